# fig6-search.gp - the validation error of all settings that were tried.
load share . "/style.gp"
array methods[5] = ["RSGD", "RSGD linear", "SGD with momentum", "Adam", \
                    "Santa SGD"]
stats csv using "epoch" nooutput
last = STATS_max
error_at_end(method, other) = strcol("method") eq method && \
    column("epoch") == last && abs(column("other") / other - 1) < 1e-6 ? \
    100 * column("test_error") : NaN
array low[5] = [0.003, 0.003, 0.8, 0.99, 0.001]
array high[5] = [0.01, 0.01, 0.9, 0.999, 0.01]

set title sprintf("MNIST, 784-100-10, trained on 50000 rows for %g epochs", last)
set xlabel "learning rate"
set ylabel "error on the other 10000, %"
set logscale x
set key outside
plot for [i = 1:5] csv using "lr":(error_at_end(methods[i], low[i])) \
         with linespoints ls i dt 3 title sprintf("%s, %g", methods[i], low[i]), \
     for [i = 1:5] csv using "lr":(error_at_end(methods[i], high[i])) \
         with linespoints ls i dt 1 title sprintf("%s, %g", methods[i], high[i])
