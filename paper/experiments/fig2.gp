# fig2.gp - the mass: ESS, cruising speed, and both over (m, eps).
load share . "/style.gp"
set multiplot layout 2,2 margins 0.09,0.91,0.11,0.94 spacing 0.19,0.2
set logscale x
set xlabel "mass m"

set title "effective draws per chain"
set ylabel "ESS"
set yrange [0:*]
band(p, sign) = column("ess") + sign * 2 * column("ess_se")
plot for [i=1:2] csv using (pick(word("c=1 c=4", i), "RHMC", "m")):(band(i, -1)):(band(i, 1)) with filledcurves ls i, \
     for [i=1:2] csv using (pick(word("c=1 c=4", i), "RHMC", "m")):"ess" with linespoints ls i title word("c=1 c=4", i)

set title "cruising speed: computed, simulated (marks)"
set ylabel "mean speed over c"
set yrange [0:1.05]
set key bottom left Left reverse
plot 1 lw 1 lc rgb "#c01010" title "c", \
     for [i=1:2] csv using (pick(word("c=1 c=4", i), "RHMC", "m")):"cruise" with lines ls i title word("c=1 c=4", i), \
     for [i=1:2] csv using (pick(word("c=1 c=4", i), "RHMC", "m")):"speed" with points ls i
set yrange [*:*]

set ylabel "step size ε" offset -1
set title "ESS, ε c = 1"
load share . "/surface.gp"
splot csv index 2 using 3:4:15 with pm3d, \
      "" index 2 using 3:4:15 with lines lw 1 lc rgb "#202020" nosurface

set title "cruising speed over c, ε c = 1"
unset logscale z
unset logscale cb
set cblabel "v / c"
set cbrange [0:1]
set cntrparam levels incremental 0.1, 0.1, 0.9
splot csv index 2 using 3:4:11 with pm3d, \
      "" index 2 using 3:4:11 with lines lw 1 lc rgb "#202020" nosurface
unset multiplot
