# fig3.gp - small targets against the step size: density, ESS, MAE, log graph
# Stein and log kernel Stein discrepancy.  Bands are two standard errors.
load share . "/style.gp"
if (GPVAL_TERM eq "svg") {
    set terminal svg size 1180,1240 dynamic background rgb "white" font "Helvetica,12"
    set output base . ".svg"
}
if (GPVAL_TERM eq "pdfcairo") {
    set terminal pdfcairo size 24cm,25.2cm font "Helvetica,9"
    set output base . ".pdf"
}
panels = "banana gmm1 gmm2 gmm3"
titles = "Banana GMM1 GMM2 GMM3"
methods = "NHMC RHMC RHMC-kappa JRHMC JRHMC-kappa"
labels = "'NHMC' 'RHMC, c = 1' 'RHMC, εc = 1' 'joint, c = 1' 'joint, εc = 1'"
style(i) = word("2 1 3 4 5", i) + 0
# GMM: variances 1/r, r, 1/r
bell(x, m, v) = exp(-(x - m)**2 / (2 * v)) / sqrt(2 * pi * v)
mixture(x, r) = (bell(x, -5, 1 / r) + bell(x, 0, r) + bell(x, 5, 1 / r)) / 3
banana(x, y) = exp(-0.5 * (0.01 * x**2 + (y + 0.1 * x**2 - 10)**2))
low(c) = column(c) - 2 * column(c . "_se")
high(c) = column(c) + 2 * column(c . "_se")

set multiplot layout 5,4 margins 0.075,0.985,0.085,0.965 spacing 0.05,0.045
set tics font ",10"

# ---- densities
set title word(titles, 1) offset 0,-0.5
set ylabel "x_2" offset -0.3
set xlabel "x_1" offset 0,0.8
set xrange [-30:30]
set yrange [-45:16]
set palette defined (0 "#ffffff", 0.3 "#c9d6e8", 1 "#10274d")
unset colorbox
set samples 120
set isosamples 120
unset grid
set urange [-30:30]
set vrange [-45:16]
set datafile separator whitespace
plot "++" using 1:2:(banana($1, $2)) with image
set datafile separator ","
set grid
set samples 400
set xrange [-11:11]
set yrange [0:*]
set xlabel "x"
do for [k=2:4] {
    r = word("0 1 0.5 0.3", k) + 0
    set title word(titles, k) offset 0,-0.5
    if (k == 2) { set ylabel "density" offset 1 } else { unset ylabel }
    plot mixture(x, r) lw 2 lc rgb "#303030"
}
unset title
unset xlabel
set logscale x
set format x "10^{%L}"

# ---- what was measured
do for [row=1:4] {
    column = word("ess mae log_gsd log_ksd", row)
    if (row == 4) { set xlabel "step size ε" offset 0,0.5 }
    do for [k=1:4] {
        panel = word(panels, k)
        if (k == 1) { set xrange [0.006:8] } else { set xrange [0.045:22] }
        n = k == 1 ? 5 : 3
        set yrange [*:*]
        unset logscale y
        set format y "%g"
        if (row <= 2) { set logscale y; set format y "10^{%L}" }
        if (row == 1) { set yrange [0.8:*] }
        if (k == 1) {
            set ylabel word("'ESS per chain' 'MAE of bin frequencies' 'log graph Stein discrepancy' 'log kernel Stein discrepancy'", row) offset -0.3
        } else { unset ylabel }
        if (row == 2) {
            plot for [i=1:n] csv using (pick(panel, word(methods, i), "eps")):(low(column)):(high(column)) with filledcurves ls style(i), \
                 for [i=1:n] csv using (pick(panel, word(methods, i), "eps")):column with linespoints ls style(i), \
                 csv using (pick(panel, "NHMC", "eps")):"mae_floor" with lines lw 1 lc rgb "#000000" dt 3 title k == 1 ? "independent draws" : ""
        } else {
            plot for [i=1:n] csv using (pick(panel, word(methods, i), "eps")):(row == 1 && low(column) < 0.5 ? 0.5 : low(column)):(high(column)) with filledcurves ls style(i), \
                 for [i=1:n] csv using (pick(panel, word(methods, i), "eps")):column with linespoints ls style(i)
        }
    }
}

# ---- one legend for all
set origin 0,0
set size 1,0.05
set margins 0,0,0,0
unset logscale
unset tics
unset border
unset xlabel
unset ylabel
unset grid
set xrange [0:1]
set yrange [0:1]
set key center center horizontal maxrows 1 samplen 4
plot for [i=1:5] -1 with linespoints ls style(i) title word(labels, i)
unset multiplot
