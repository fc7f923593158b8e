# fig6-500-300.gp - as fig6-100.gp, for another network.
net = "784-500-300-10"
load share . "/fig6-100.gp"
