# fig6-search.gp - the error on rows that were held back, of all settings that were
# tried: small marks in the first round (the smaller ones: the smaller value of the
# second parameter), large ones in the second.
load share . "/style.gp"
array methods[5] = ["RSGD", "RSGD linear", "SGD with momentum", "Adam", \
                    "Santa SGD"]
array low[5] = [0.003, 0.003, 0.8, 0.99, 0.001]
array high[5] = [0.01, 0.01, 0.9, 0.999, 0.01]
epoch_of(round) = strcol("panel") eq round ? column("epoch") : NaN
stats csv using (epoch_of("first round")) nooutput
first = STATS_max
stats csv using (epoch_of("second round")) nooutput
second = STATS_max
ends(round, last, method) = strcol("panel") eq round && \
    strcol("method") eq method && column("epoch") == last
error_in(method, other) = ends("first round", first, method) && \
    abs(column("other") / other - 1) < 1e-6 ? 100 * column("test_error") : NaN
error_again(method) = ends("second round", second, method) ? \
    100 * column("test_error") : NaN

set title sprintf("MNIST, 784-100-10, 50000 rows; small marks: %g epochs, large: %g", \
                  first, second)
set xlabel "learning rate"
set ylabel "error on the other 10000, %"
set logscale x
set key outside
plot for [i = 1:5] csv using "lr":(error_in(methods[i], low[i])) \
         with points ls i ps 0.7 title sprintf("%s, %g", methods[i], low[i]), \
     for [i = 1:5] csv using "lr":(error_in(methods[i], high[i])) \
         with points ls i ps 1.1 title sprintf("%s, %g", methods[i], high[i]), \
     for [i = 1:5] csv using "lr":(error_again(methods[i])) \
         with points ls i ps 1.9
