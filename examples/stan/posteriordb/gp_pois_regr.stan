// Counts whose log rate is a Gaussian process.
data {
  int<lower=1> N;
  vector[N] x;
  array[N] int<lower=0> k;
}
transformed data {
  matrix[N, N] distance2;
  matrix[N, N] jitter = diag_matrix(rep_vector(1e-10, N));
  for (i in 1:N)
    for (j in 1:N)
      distance2[i, j] = square(x[i] - x[j]);
}
parameters {
  real<lower=0> rho;
  real<lower=0> alpha;
  vector[N] f_tilde;
}
transformed parameters {
  vector[N] f = cholesky_decompose(
                  square(alpha) * exp(distance2 * (-0.5 / square(rho)))
                  + jitter) * f_tilde;
}
model {
  rho ~ gamma(25, 4);
  alpha ~ normal(0, 2);
  f_tilde ~ normal(0, 1);
  k ~ poisson_log(f);
}
