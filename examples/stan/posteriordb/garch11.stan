// Returns whose variance follows the last return and the last variance.
data {
  int<lower=0> T;
  vector[T] y;
  real<lower=0> sigma1;
}
parameters {
  real mu;
  real<lower=0> alpha0;
  real<lower=0, upper=1> alpha1;
  real<lower=0, upper=1 - alpha1> beta1;
}
model {
  vector[T] s2;
  s2[1] = square(sigma1);
  for (t in 2:T)
    s2[t] = alpha0 + alpha1 * square(y[t - 1] - mu)
                  + beta1 * s2[t - 1];
  y ~ normal(mu, sqrt(s2));
}
