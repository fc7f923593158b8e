// Effects of coaching in eight schools (Rubin 1981).
//
//   relmc sample eight_schools.stan --data eight_schools.json --seed 1
data {
  int<lower=0> J;            // schools
  vector[J] y;               // estimated effects
  vector<lower=0>[J] sigma;  // and their standard errors
}
parameters {
  real mu;                   // mean effect
  real<lower=0> tau;         // how much schools differ
  vector[J] eta;             // in units of tau: the non-centred form
}
transformed parameters {
  vector[J] theta = mu + tau * eta;
}
model {
  mu ~ normal(0, 5);
  tau ~ cauchy(0, 5);
  eta ~ normal(0, 1);
  y ~ normal(theta, sigma);
}
generated quantities {
  real y_new = normal_rng(theta[1], sigma[1]); // the first school once more
}
