# fig5.gp - accuracy along the epochs, and the weights after the first iteration,
# for the data as in the paper and for standardised inputs with a prior.
load share . "/style.gp"
accuracy(panel, method, k) = strcol("panel") eq panel && \
    strcol("method") eq method && column("epoch") > 0 ? \
    100 * (1 - column("test_error") + k * column("test_error_se")) : NaN
share_of(panel, method) = strcol("panel") eq panel && \
    strcol("method") eq method && column("weight") > 0 ? \
    100 * column("share") : NaN
array panels[2] = ["max-flat", "sd-normal"]
array titles[2] = ["inputs scaled to at most 1, no prior", \
                   "inputs standardised, standard normal prior"]
array methods[5] = ["RSGD", "RHMC", "SGLD-Adam", "SGLD-Adam 1e-5", \
                    "SGLD-Adam 0.1"]
array labels[5] = ["RSGD", "RHMC", "SGLD-Adam, λ = 10^{-8}", \
                   "SGLD-Adam, λ = 10^{-5}", \
                   "SGLD-Adam, λ = 0.1"]

set multiplot layout 2,2
set xlabel "epochs (passes through the data)"
set ylabel "test accuracy, %"
set yrange [35:85]
set logscale x
stats csv using "epoch" nooutput
set xrange [0.08:1.1 * STATS_max]
do for [p = 1:2] {
    set title titles[p]
    if (p == 1) { unset key } else { set key bottom right }
    plot for [i = 1:5] csv using "epoch":(accuracy(panels[p], methods[i], -2)):\
             (accuracy(panels[p], methods[i], 2)) with filledcurves ls i, \
         for [i = 1:5] csv using "epoch":(accuracy(panels[p], methods[i], 0)) \
             with lines ls i title labels[i]
}
set xlabel "absolute value of a weight"
set ylabel "% of the weights, a quarter decade"
unset yrange
set yrange [0:*]
set format x "10^{%T}"
set xrange [1e-4:1e4]
unset key
do for [p = 1:2] {
    set title "after the first iteration"
    plot for [i = 1:5] csv using "weight":(share_of(panels[p], methods[i])) \
             with histeps ls i title labels[i]
}
unset multiplot
