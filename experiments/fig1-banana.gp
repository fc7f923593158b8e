# fig1-banana.gp - ESS over eps and eps c.
load share . "/style.gp"
set title "Banana: ESS of a chain"
set xlabel "step size {/Symbol e}"
set ylabel "{/Symbol e} c"
set cblabel "ESS per chain"
set logscale xy
set logscale cb
set palette gray negative
set palette defined (0 "#f4f4f4", 0.35 "#c9d6e8", 0.7 "#5b84b8", 1 "#10274d")
set view map
set border 15
set pm3d corners2color c1
set contour base
set cntrparam levels 8
set style data lines
unset grid
splot csv using "eps":"kappa":"ess" with points pt 5 ps 2 palette
