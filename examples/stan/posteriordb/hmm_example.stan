// A hidden Markov chain with two states; the forward algorithm sums over them.
data {
  int<lower=1> N;
  int<lower=2, upper=2> K;
  vector[N] y;
}
parameters {
  simplex[K] theta1; // from state 1
  simplex[K] theta2; // from state 2
  positive_ordered[K] mu;
}
model {
  matrix[K, K] log_theta; // [to, from]
  vector[K] forward;
  vector[K] next;
  mu[1] ~ normal(3, 1);
  mu[2] ~ normal(10, 1);
  log_theta[, 1] = log(theta1);
  log_theta[, 2] = log(theta2);
  for (k in 1:K)
    forward[k] = normal_lpdf(y[1] | mu[k], 1);
  for (t in 2:N) {
    for (k in 1:K)
      next[k] = log_sum_exp(forward + log_theta[k, ]')
                + normal_lpdf(y[t] | mu[k], 1);
    forward = next;
  }
  target += log_sum_exp(forward);
}
