// Party identification in a survey, from eight things known of people.
data {
  int<lower=0> N;
  vector[N] partyid7;
  vector[N] real_ideo;
  vector[N] race_adj;
  vector[N] age_discrete;
  vector[N] educ1;
  vector[N] gender;
  vector[N] income;
}
transformed data {
  matrix[N, 9] X;
  X[, 1] = rep_vector(1, N);
  X[, 2] = real_ideo;
  X[, 3] = race_adj;
  for (n in 1:N)
    for (age in 2:4)
      X[n, 2 + age] = age_discrete[n] == age;
  X[, 7] = educ1;
  X[, 8] = gender;
  X[, 9] = income;
}
parameters {
  vector[9] beta;
  real<lower=0> sigma;
}
model {
  partyid7 ~ normal(X * beta, sigma);
}
