# style.gp - how all our figures look: lines differ by dashes, marks and
# shades, so that they can be read in grey.
#
# Scripts are called with share (the folder of this file) and base (the path of
# the CSV file without .csv); the terminal and the output are set already.
set datafile separator ","
set datafile commentschars "#"
set datafile missing "nan"
csv = base . ".csv"

set style line 1 lw 2 lc rgb "#0b3c8c" dt 1 pt 7  ps 0.6
set style line 2 lw 2 lc rgb "#c8591c" dt 2 pt 5  ps 0.6
set style line 3 lw 2 lc rgb "#3a8f5c" dt 4 pt 9  ps 0.7
set style line 4 lw 2 lc rgb "#7a4fa3" dt 5 pt 13 ps 0.8
set style line 5 lw 2 lc rgb "#8a8a8a" dt 3 pt 11 ps 0.7
set style line 6 lw 2 lc rgb "#111111" dt 6 pt 4  ps 0.7
set style line 7 lw 2 lc rgb "#b03060" dt 7 pt 6  ps 0.7
set style line 8 lw 2 lc rgb "#2f8f9d" dt 8 pt 8  ps 0.7
set style fill transparent solid 0.18 noborder
set border 3 lw 0.8
set tics nomirror out
set grid lw 0.4 lc rgb "#d0d0d0"
set key samplen 2.5 spacing 1.1 noautotitle

# A value of the rows of one panel and one method, nothing elsewhere:
#   plot csv using (pick("banana", "RHMC", "eps")):"ess" ...
pick(panel, method, column) = \
    strcol("panel") eq panel && strcol("method") eq method ? column(column) : NaN
