# fig1-gmm1.gp - ESS over eps and eps c.
load share . "/style.gp"
set title "GMM1: effective draws per chain"
set xlabel "step size ε"
set ylabel "largest step ε c"
load share . "/surface.gp"
splot csv using (pick("gmm1", "RHMC", "eps")):"kappa":"ess" with pm3d, \
      "" using (pick("gmm1", "RHMC", "eps")):"kappa":"ess" with lines lw 1 lc rgb "#202020" nosurface
