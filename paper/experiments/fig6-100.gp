# fig6-100.gp - the test error along the epochs, mean and two standard errors; the
# other networks of the figure load it, too.
load share . "/style.gp"
error_of(method, k) = strcol("method") eq method ? \
    100 * (column("test_error") + k * column("test_error_se")) : NaN
if (!exists("net")) { net = "784-100-10" }
array methods[6] = ["RSGD", "Adam", "Santa SGD", "Santa SGD (authors)", \
                    "RSGD linear", "SGD with momentum"]
array labels[6] = ["RSGD", "Adam", "Santa SGD, tuned", \
                   "Santa SGD, authors' settings", \
                   "RSGD, linear friction", "SGD with momentum"]

set title "MNIST, " . net
set xlabel "epochs"
set ylabel "test error, %"
set logscale y
set yrange [1.3:25]
set ytics (1.5, 2, 3, 4, 6, 8, 10, 15, 20)
stats csv using "epoch" nooutput
set xrange [0:STATS_max + 0.5]
set xtics 0, STATS_max > 10 ? 2 : 1
set key top right
plot for [i = 1:6] csv using "epoch":(error_of(methods[i], -2)):\
         (error_of(methods[i], 2)) with filledcurves ls i, \
     for [i = 1:6] csv using "epoch":(error_of(methods[i], 0)) \
         with linespoints ls i title labels[i]
