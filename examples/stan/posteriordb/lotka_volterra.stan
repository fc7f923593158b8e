// Pelts of hares and lynxes, 1900-1920: prey u, predators v.
functions {
  array[] real change(real t, array[] real z, array[] real theta,
                      array[] real x_r, array[] int x_i) {
    real u = z[1];
    real v = z[2];
    return {(theta[1] - theta[2] * v) * u, (-theta[3] + theta[4] * u) * v};
  }
}
data {
  int<lower=0> N;
  array[N] real ts;
  vector[2] y_init;
  matrix<lower=0>[N, 2] y;
}
parameters {
  vector<lower=0>[4] theta;
  vector<lower=0>[2] z_init;
  vector<lower=0>[2] sigma;
}
transformed parameters {
  array[N, 2] real z
    = integrate_ode_rk45(change, to_array_1d(z_init), 0, ts,
                         to_array_1d(theta), rep_array(0.0, 0),
                         rep_array(0, 0), 1e-6, 1e-5, 1000);
}
model {
  theta[1] ~ normal(1, 0.5);
  theta[3] ~ normal(1, 0.5);
  theta[2] ~ normal(0.05, 0.05);
  theta[4] ~ normal(0.05, 0.05);
  sigma ~ lognormal(-1, 1);
  z_init ~ lognormal(log(10), 1);
  for (k in 1:2) {
    y_init[k] ~ lognormal(log(z_init[k]), sigma[k]);
    y[, k] ~ lognormal(to_vector(log(z[, k])), sigma[k]);
  }
}
