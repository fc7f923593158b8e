# fig4.gp - logistic regression against the step size: Stein discrepancies, and
# what they do not tell: chains that fail, variance, bias.  Bands are two standard
# errors; curves end where half of the chains fail.
load share . "/style.gp"
if (GPVAL_TERM eq "svg") {
    set terminal svg size 1000,1280 dynamic background rgb "white" font "Helvetica,12"
    set output base . ".svg"
}
if (GPVAL_TERM eq "pdfcairo") {
    set terminal pdfcairo size 19cm,24.3cm font "Helvetica,9"
    set output base . ".pdf"
}
# a shade for each family; Newtonian: dashes, open marks; split: dots
set style line 11 lw 2 lc rgb "#707070" dt 2 pt 4  ps 0.7
set style line 12 lw 2 lc rgb "#707070" dt 1 pt 5  ps 0.7
set style line 13 lw 2 lc rgb "#0b3c8c" dt 2 pt 6  ps 0.7
set style line 14 lw 2 lc rgb "#0b3c8c" dt 1 pt 7  ps 0.7
set style line 15 lw 2 lc rgb "#d0701c" dt 2 pt 8  ps 0.8
set style line 16 lw 2 lc rgb "#d0701c" dt 1 pt 9  ps 0.8
set style line 17 lw 2 lc rgb "#6f93cf" dt 3 pt 12 ps 0.8
set style line 18 lw 2 lc rgb "#6f93cf" dt 4 pt 13 ps 0.8
set style line 19 lw 2 lc rgb "#e8a868" dt 4 pt 11 ps 0.8
methods = "NHMC RHMC NSGHMC RSGHMC NSGNHT RSGNHT NSGHMC-split RSGHMC-split RSGNHT-split"
panels = "script light"
titles = "'m = 1, D = 1, εc = 0.01' 'm = 0.001, D = 0.3, εc = 0.1'"
columns = "log_gsd log_ksd failed var_ratio bias"
names = "'log graph Stein discrepancy' 'log kernel Stein discrepancy' 'share of chains that fail' 'variance / true variance' 'bias of the mean / sd'"
least(c) = c eq "var_ratio" ? 0.005 : c eq "bias" ? 0.002 : -100
low(c) = column(c) - 2 * column(c . "_se")
high(c) = column(c) + 2 * column(c . "_se")
cut(y, c) = y < least(c) ? least(c) : y

set multiplot layout 5,2 margins 0.095,0.985,0.105,0.965 spacing 0.09,0.04
set logscale x
set format x "10^{%L}"
set tics font ",10"
do for [row=1:5] {
    c = word(columns, row)
    if (row == 5) { set xlabel "step size ε" offset 0,0.3 }
    do for [k=1:2] {
        panel = word(panels, k)
        if (row == 1) { set title word(titles, k) offset 0,-0.5 } else { unset title }
        if (k == 1) { set xrange [0.0062:1.09]; set ylabel word(names, row) offset -0.3 }
        if (k == 2) { set xrange [0.00094:0.068]; unset ylabel }
        set yrange [*:*]
        unset logscale y
        set format y "%g"
        if (row == 3) { set yrange [-0.03:1.03] }
        if (row >= 4) { set logscale y; set format y "10^{%L}" }
        if (row == 4) { set yrange [0.005:300] }
        if (row == 5) { set yrange [0.002:10] }
        n_bands = row == 5 ? 0 : 9 # errors of the bias are as large as most of it
        plot for [i=1:n_bands] csv using (pick(panel, word(methods, i), "eps")):(cut(low(c), c)):(cut(high(c), c)) with filledcurves ls 10 + i, \
             for [i=1:9] csv using (pick(panel, word(methods, i), "eps")):(column(c)) with linespoints ls 10 + i, \
             row == 4 ? 1 : NaN with lines lw 1 lc rgb "#000000" dt 3
    }
}

set origin 0,0
set size 1,0.06
set margins 0,0,0,0
unset logscale
unset tics
unset border
unset xlabel
unset ylabel
unset grid
set xrange [0:1]
set yrange [0:1]
set key center center horizontal maxrows 2 samplen 4 width 2
plot for [i=1:9] -1 with linespoints ls 10 + i title word(methods, i)
unset multiplot
