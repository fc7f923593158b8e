# fig6-400-400.gp - as fig6-100.gp, for another network.
net = "784-400-400-10"
load share . "/fig6-100.gp"
