# surface.gp - a quantity over two logarithmic axes: shades, and lines of equal
# height in steps of a factor of 2.
set logscale xyz
set logscale cb
set palette defined (0 "#fbfbfb", 0.4 "#c3d2e6", 0.75 "#5580b5", 1 "#0c2247")
set cblabel "ESS"
set view map
set border 31
set pm3d interpolate 1,1
set contour base
set cntrparam bspline
set cntrparam levels incremental 1, 2, 100000
unset grid
unset ztics
unset key
set autoscale fix
set cntrlabel onecolor
set style fill solid 1.0 noborder
