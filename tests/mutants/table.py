"""table.py - bugs that the tests must find, one entry each.

`seen` marks bugs of other implementations.  `edits` are pairs of old text, which occurs
exactly once in `file`, and new text, or triples with another file.  `tests` are the
programs that must fail, with their arguments; those that are not built are reported as
absent.  `compile` names the source files to compile if `file` is a header.
"""

from collections import namedtuple

Mutant = namedtuple("Mutant", "name seen what file edits tests compile")


def mutant(name, seen, what, file, edits, tests, compile=()):
    return Mutant(name, seen, what, file, edits, tests, compile or (file,))


SEPARABLE = "kinetic/separable.c"
JOINT = "kinetic/relativistic.c"
SPLITTING = "integrator/splitting.c"
HMC = "sampler/mcmc/hmc.c"
GHMC = "sampler/mcmc/ghmc.c"
NUTS = "sampler/mcmc/nuts.c"
WALNUTS = "sampler/mcmc/walnuts.c"
TEMPERED = "sampler/mcmc/tempered.c"
PROPOSAL = "sampler/mcmc/proposal_inline.h"
MOMENTUM = "sampler/momentum_inline.h"
TREE = "sampler/mcmc/tree_rows_inline.h"
TREE_LANES = "sampler/mcmc/tree_lanes.c"
UTURN = "sampler/mcmc/uturn_inline.h"
WARP = "transform/warp.c"


def kinetic(pattern):
    return ("conformance-kinetic", "test_kinetic__" + pattern)


def refresh(pattern):
    return ("conformance-kinetic-refresh", "test_kinetic__" + pattern)


def momentum(pattern):
    return ("statistical-momentum", "test_momentum__" + pattern)


def integrator(pattern):
    return ("conformance-integrator", "test_integrator__" + pattern)


INVARIANCE = ("statistical-invariance",)
SBC = ("statistical-sbc",)


def tempered(pattern):
    return ("statistical-tempered", "test_tempered__" + pattern)


SAMPLER_DRAWS = ("conformance-sampler-draws",)
RESUME = ("conformance-resume",)
ADAPT = ("conformance-adapt",)
ADAPT_AUTO = ("conformance-adapt-auto",)
TUNING = ("conformance-tuning",)
METRIC = ("conformance-metric",)
TREES = ("unit-tree",)
SGHMC = "sampler/sgmcmc/sghmc.c"
THERMOSTAT = "sampler/sgmcmc/sghmc_thermostat.c"
SGHMC_FLOAT = "sampler/sgmcmc/sghmc_float.c"
SGLD = "sampler/sgmcmc/sgld.c"
DESCENT = "sampler/optimizer/descent.c"


def stochastic(part, pattern):
    return ("statistical-stochastic-" + part, "test_" + pattern)



MUTANTS = [
    # ---- kinetic energies ---------------------------------------------------
    mutant(
        "separable-mass-in-gamma", True,
        "p^2/(m c^2) where p^2/(m c)^2 belongs",
        SEPARABLE,
        [("k->inv_c2[i] = 1.0 / (c * c);", "k->inv_c2[i] = m / (c * c);")],
        [kinetic("*light"), refresh("*equipartition")]),
    mutant(
        "joint-mass-in-gamma", True, "the same in the joint energy", JOINT,
        [("k->inv_c2 = 1.0 / (k->c * k->c);",
          "k->inv_c2 = k->mass / (k->c * k->c);")],
        [kinetic("*light"), refresh("*equipartition")]),
    mutant(
        "joint-energy-unit-mass", True,
        "an energy that is right for m = 1 only", JOINT,
        [("e[k] /= kin->mass + rel_mass(kin, e[k]);",
          "e[k] /= 1.0 + rel_mass(kin, e[k]);")],
        [kinetic("velocity*")]),
    mutant(
        "separable-laplacian", False, "m/M^2 where m^2/M^3 belongs", SEPARABLE,
        [("lap[k] += mass2 / M / (M * M)", "lap[k] += kin->mass[i] / (M * M)")],
        [kinetic("laplacian*")]),
    mutant(
        "joint-laplacian", False, "d/M alone", JOINT,
        [("((double)s->dim - lap[k] * kin->inv_c2 / (M * M)) / M",
          "(double)s->dim / M")],
        [kinetic("laplacian*"), refresh("*equipartition")]),
    mutant(
        "separable-rest-energy", True, "m c^2 (sqrt(...) - 1)", SEPARABLE,
        [("q * q / (m + rel_mass(q, mass2, inv_c2))",
          "(rel_mass(q, mass2, inv_c2) - m) / inv_c2")],
        [kinetic("*newtonian")]),
    mutant(
        "joint-rest-energy", True, "m c^2 (sqrt(...) - 1)", JOINT,
        [("e[k] /= kin->mass + rel_mass(kin, e[k]);",
          "e[k] = kin->beta * (rel_mass(kin, e[k]) / kin->mass - 1.0);")],
        [kinetic("*newtonian")]),
    mutant(
        "separable-first-element", True, "m_1, c_1 used for every coordinate",
        SEPARABLE,
        [("v->values[v->n == 1 ? 0 : i]", "v->values[0 * i]")],
        [momentum("separable_few*"), kinetic("*light")]),
    mutant(
        "separable-first-mass", True, "m_1 used for every energy", SEPARABLE,
        [("const double m = kin->mass[i], mass2 = kin->mass2[i];",
          "const double m = kin->mass[0], mass2 = kin->mass2[0];")],
        [kinetic("velocity*")]),
    mutant(
        "cruise-of-one-dimension", False,
        "the joint mean speed by the formula of one coordinate", JOINT,
        [("return relmc_cruise_speed(dim, ",
          "return relmc_cruise_speed(1 + 0 * dim, ")],
        [refresh("mean_speed*")]),
    # ---- refreshment --------------------------------------------------------
    mutant(
        "separable-gaussian-momenta", True,
        "normal momenta, relativistic energy",
        SEPARABLE,
        [("    if (kin->n_tables == 1) {\n"
          "        RMC_ISA(rmc_hyperbolic_transform)(kin->table[0], rmc_cells(s), p);",
          "    for (size_t j = 0; j < rmc_cells(s); j++) {\n"
          "        p[j] = rmc_normal_quantile(rmc_unit(rmc_to_bits(p[j])));")],
        [momentum("separable_one*"), refresh("*equipartition")]),
    mutant(
        "joint-gaussian-momenta", True, "normal momenta, relativistic energy",
        JOINT,
        [("r2[k] = sqrt(kin->mass * kin->beta * e_per_r2 * (2.0 + e));",
          "r2[k] = sqrt(kin->mass) + 0.0 * e_per_r2;")],
        [momentum("joint_radius"), refresh("*equipartition")]),
    mutant(
        "joint-unit-mass", True,
        "|p|^2 = beta e (2 + e), right for m = 1 only",
        JOINT,
        [("sqrt(kin->mass * kin->beta * e_per_r2",
          "sqrt(kin->beta * e_per_r2")],
        [momentum("joint_radius")]),
    mutant(
        "joint-always-accept", False, "the proposal of the radius is kept",
        JOINT, [("if (!(odds[k] > 0.0)) {", "if (odds[k] != odds[k]) {")],
        [momentum("joint_radius")]),
    mutant(
        "joint-jacobian-r1", True,
        "radius density r^1 exp(-K) in any dimension",
        JOINT,
        [("e = rmc_draw_gamma(stream, 0.5 * d) / kin->rate;",
          "e = rmc_draw_gamma(stream, 1.0) / kin->rate;")],
        [momentum("joint_radius")]),
    mutant(
        "joint-jacobian-gamma", False,
        "factor 1 + e missing in the radius", JOINT,
        [("rmc_log1p(t / (1.0 + kin->peak))", "0.0")],
        [momentum("joint_radius")]),
    mutant(
        "joint-one-dimension", True, "power (d-2)/2 not let below zero", JOINT,
        [("return rmc_fma(0.5 * (d - 2.0),",
          "return rmc_fma(d > 2.0 ? 0.5 * (d - 2.0) : 0.0,")],
        [momentum("joint_radius")]),
    mutant(
        "joint-angles", True, "directions of a cube, not of a ball", JOINT,
        [("    rmc_fill_normal(s, streams, p);\n",
          "    rmc_fill_uniform(s, streams, p);\n"
          "    for (size_t j = 0; j < rmc_cells(s); j++) {\n"
          "        p[j] = 3.4641016151377546 * (p[j] - 0.5);\n"
          "    }\n")],
        [momentum("joint_direction*")]),
    mutant(
        "joint-one-sign", False, "d = 1: momenta all positive", JOINT,
        [("p[i * s->ld + k0 + k] *= r2[k];",
          "p[i * s->ld + k0 + k] = r2[k] *\n"
          "    (s->dim > 1 ? p[i * s->ld + k0 + k]\n"
          "                : fabs(p[i * s->ld + k0 + k]));")],
        [momentum("joint_covariance*")]),
    mutant(
        "table-rest-energy", True, "exp(-m c^2) in the density underflows",
        "kinetic/separable_momentum.c",
        [("return rmc_exp(-y * y / (1.0 + sqrt(rmc_fma(y * inv_a, y, 1.0))));",
          "return rmc_exp(-sqrt(rmc_fma(y * inv_a, y, 1.0)) / inv_a);")],
        [momentum("separable_one*"), kinetic("extreme*")]),
    mutant(
        "table-sign-from-magnitude", False,
        "a uniform used for two purposes: sign and size",
        "kinetic/separable_momentum_inline.h",
        [("return rmc_from_bits(rmc_to_bits(y) ^ bits << 63);",
          "return rmc_from_bits(rmc_to_bits(y) ^ (bits >> 63) << 63);"),
         ("_mm256_slli_epi64(bits, 63)",
          "_mm256_and_si256(bits, _mm256_set1_epi64x(INT64_MIN))")],
        [momentum("separable_one*")], ["kinetic/separable_momentum.c"]),
    mutant(
        "rejection-hat", False, "a hat that is too low somewhere",
        "kinetic/separable_momentum.c",
        [("const double hat = 0.70710678118654752440 + sqrt(e);",
          "const double hat = sqrt(e);")],
        [momentum("separable_by_rejection")]),
    mutant(
        "rejection-shared-stream", False,
        "all lanes draw from the first stream",
        SEPARABLE,
        [("RMC_ISA(rmc_hyperbolic_reject)(&streams[k], ",
          "RMC_ISA(rmc_hyperbolic_reject)(&streams[0], ")],
        [kinetic("lanes*")]),
    mutant(
        "joint-shared-stream", False, "all lanes draw from the first stream",
        JOINT, [("draw_excess(kin, d, &streams[k0 + k])",
                 "draw_excess(kin, d, &streams[0])")],
        [kinetic("lanes*")]),
    mutant(
        "lanes-same-words", False, "lanes get the words of their neighbour",
        "base/rng_inline.h",
        [("id[j] = rmc_stream_id(&streams[j]);",
          "id[j] = rmc_stream_id(&streams[0]);"),
         ("id[j] = (int64_t)rmc_stream_id(&streams[j]);",
          "id[j] = (int64_t)rmc_stream_id(&streams[0]);")],
        [kinetic("lanes*"), refresh("chains*")], [SEPARABLE, JOINT]),
    # ---- partial refreshment ------------------------------------------------
    mutant(
        "separable-autoregression", True,
        "a p + sqrt(1 - a^2) q with q ~ exp(-K)", SEPARABLE,
        [("        p[j] = rmc_fma(a, p[j], sqrt((1.0 - a * a) * T * w[j]) * "
          "normal[j]);",
          "        p[j] = rmc_fma(a, p[j], sqrt(1.0 - a * a) * w[j]);"),
         ("    rmc_fill_normal(s, streams, normal);\n"
          "    if (bath->rate > 0.0) {",
          "    refresh(self, s, streams, w);\n"
          "    if (bath->rate > 0.0) {")],
        [refresh("partial_keeps*"), momentum("separable_partial*")]),
    mutant(
        "joint-autoregression", True, "a p + sqrt(1 - a^2) q with q ~ exp(-K)",
        JOINT,
        [("    rmc_fill_normal(s, streams, z);\n"
          "    for (size_t i = 0; i < s->dim; i++) {",
          "    refresh(self, s, streams, z);\n"
          "    for (size_t k = 0; k < s->ld; k++) {\n"
          "        w[k] = sqrt(1.0 - keep[k] * keep[k]);\n"
          "    }\n"
          "    for (size_t i = 0; i < s->dim; i++) {")],
        [refresh("partial_keeps*"), momentum("joint_partial*")]),
    mutant(
        "separable-wrong-width", False,
        "the two roots of W exchanged", SEPARABLE,
        [("<= 1.0 ? d : 1.0 / d);", "<= 1.0 ? 1.0 / d : d);")],
        [refresh("partial_keeps*"), momentum("separable_partial*")]),
    mutant(
        "joint-wrong-width", False, "W = M, its mean law forgotten", JOINT,
        [("w[k] = sqrt((1.0 - a * a) * T * W);",
          "w[k] = sqrt((1.0 - a * a) * T * (w[k] + 0.0 * W));")],
        [refresh("partial_keeps*"), momentum("joint_partial*")]),
    mutant(
        "separable-normal-reused", False,
        "one normal for the width and for the momentum", SEPARABLE,
        [("    rmc_fill_normal(s, streams, normal);\n"
          "    if (bath->rate > 0.0) {",
          "    if (bath->rate > 0.0) {")],
        [refresh("partial_leaves*"), momentum("separable_partial*")]),
    mutant(
        "joint-partial-shared-stream", False,
        "all lanes draw from the first stream", JOINT,
        [("const double u = rmc_draw_uniform(&streams[k]);",
          "const double u = rmc_draw_uniform(&streams[0]);")],
        [kinetic("lanes*")]),
    # ---- integrators --------------------------------------------------------
    mutant(
        "kick-without-transpose", True,
        "S in place of S' in the kick", SPLITTING,
        [("add_upper(&sys->shape, sys->frame.scale.chol, step, b, z->g, z->p);",
          "add_lower(&sys->shape, sys->frame.scale.chol_t, step, b, z->g, z->p);")],
        [integrator("follows*"), integrator("order*")]),
    mutant(
        "no-closing-kick", True, "the last half kick is missing", SPLITTING,
        [("kick(sys, z, step, method->coef[n + 1]);",
          "if (n + 2 < method->n_coef) {\n"
          "            kick(sys, z, step, method->coef[n + 1]);\n"
          "        }")],
        [integrator("is_reversible"), integrator("order*")]),
    mutant(
        "kick-wrong-sign", False, "momentum pushed uphill", SPLITTING,
        [("add_upper(&sys->shape, sys->frame.scale.chol, step, b, z->g, z->p);",
          "add_upper(&sys->shape, sys->frame.scale.chol, step, -b, z->g, "
          "z->p);"),
         ("add_scaled(&sys->shape, sys->frame.scale.diag, step, b, z->g, z->p);",
          "add_scaled(&sys->shape, sys->frame.scale.diag, step, -b, z->g, z->p);")],
        [integrator("follows*"), integrator("order*")]),
    mutant(
        "drift-without-metric", False, "S applied to the kick only", SPLITTING,
        [("add_scaled(&sys->shape, sys->frame.scale.diag, step, a, ",
          "add_scaled(&sys->shape, NULL, step, a, ")],
        [integrator("follows*"), integrator("order*")]),
    mutant(
        "stale-gradient", False, "inner kicks with the first gradient",
        SPLITTING,
        [("            relmc_eval(sys, z->x, is_last ? z->lp : NULL, z->g);",
          "            n > 1 ? RELMC_OK : relmc_eval(sys, z->x, z->lp, z->g);")],
        [integrator("leaves*"), integrator("order*")]),
    mutant(
        "yoshida-digit", False, "fractions that do not add up", SPLITTING,
        [("-0.1756035959798288, -1.7024143839193153,",
          "-0.1756035959798288, -1.7024143839193053,")],
        [integrator("fractions*")]),
    mutant(
        "yoshida-order", False,
        "fractions of order two, called four", SPLITTING,
        [("{0.6756035959798289,  1.3512071919596578,\n"
          "                                 -0.1756035959798288, "
          "-1.7024143839193153,\n"
          "                                 -0.1756035959798288, "
          "1.3512071919596578,\n"
          "                                 0.6756035959798289}",
          "{0.65, 1.3, -0.15, -1.6, -0.15, 1.3, 0.65}")],
        [integrator("order*")]),
    mutant(
        "first-step-for-all", False, "every lane makes the step of the first",
        SPLITTING,
        [("const double w = f * step[k];",
          "const double w = f * step[0 * k];")],
        [integrator("lanes*")]),
    # ---- samplers -----------------------------------------------------------
    mutant(
        "ghmc-no-flip", False, "momentum kept when a proposal is rejected",
        PROPOSAL,
        [("z->p[at] = -q->start.p[at];", "z->p[at] = q->start.p[at];")],
        [INVARIANCE], (HMC, GHMC)),
    mutant(
        "hmc-accept-inverted", False, "accepts what it should reject", HMC,
        [("h->uniform[j] < h->proposal.ratio[j]",
          "h->uniform[j] > h->proposal.ratio[j]")],
        [INVARIANCE]),
    mutant(
        "hmc-accept-always", False, "no Metropolis step", HMC,
        [("h->uniform[j] < h->proposal.ratio[j]",
          "h->proposal.ratio[j] > 0.0")],
        [INVARIANCE]),
    mutant(
        "hmc-error-halved", False, "half of the energy error in the "
        "Metropolis step, seen by the energy first", PROPOSAL,
        [("rmc_exp(h0[j] - H)", "rmc_exp(0.5 * (h0[j] - H))")],
        [INVARIANCE], (HMC, GHMC)),
    mutant(
        "hmc-no-kinetic-energy", False, "H = -lp in the Metropolis step",
        PROPOSAL,
        [("const double H = h1[j] - lp[j];", "const double H = -lp[j];"),
         ("h0[j] = energy[j] - lp[j];", "h0[j] = -lp[j];")],
        [INVARIANCE, SBC], (HMC, GHMC)),
    mutant(
        "hmc-stale-gradient", False,
        "gradient of the proposal kept when it is rejected", PROPOSAL,
        [("    rmc_copy_lanes(s, set, q->start.g, z->g);\n", "")],
        [INVARIANCE], (HMC, GHMC)),
    mutant(
        "hmc-stale-density", False,
        "log density of the proposal kept when it is rejected", PROPOSAL,
        [("z->lp[set->lane[j]] = q->start.lp[set->lane[j]];", ";")],
        [INVARIANCE], (HMC, GHMC)),
    mutant(
        "hmc-shared-stream", False,
        "idle lanes draw from the first stream", MOMENTUM,
        [("m->streams[j] = sys->lanes.streams[purpose][set->lane[j]];",
          "m->streams[j] = sys->lanes.streams[purpose][0];")],
        [SAMPLER_DRAWS], (HMC, GHMC)),
    mutant(
        "ghmc-slice-kept", False, "u is not divided by the ratio", GHMC,
        [("g->u[k] = is_accepted ? u / r : u;", "g->u[k] = u;")],
        [INVARIANCE]),
    mutant(
        "ghmc-slice-one-sided", False, "u where |u| belongs", GHMC,
        [("fabs(u) < r", "u < r")],
        [INVARIANCE]),
    mutant(
        "ghmc-slice-not-wrapped", False,
        "u starts again at 0 when it leaves its range", GHMC,
        [("return u < 1.0 ? u : u - 2.0;", "return u < 1.0 ? u : 0.0;")],
        [INVARIANCE]),
    mutant(
        "ghmc-autoregression", True,
        "a p + sqrt(1 - a^2) p' with a new p': right for normal momenta only",
        MOMENTUM,
        [("        kin->ops->partial(kin->self, &c, streams, &bath, q, m->work);\n",
          "        kin->ops->refresh(kin->self, &c, streams, m->work);\n"
          "        for (size_t j = 0; j < rmc_cells(&c); j++) {\n"
          "            q[j] = keep * q[j] +\n"
          "                   sqrt(1.0 - keep * keep) * m->work[j];\n"
          "        }\n")],
        [INVARIANCE], (HMC, GHMC)),
    mutant(
        "nuts-leaf-weights", False,
        "a new leaf is taken every second time, as long as numbers last", TREE,
        [("rmc_if_less(chosen, t->patience[k] * sum)",
          "rmc_if_less(0.5, t->patience[k]) & t->has_leaf[k]"),
         ("RMC_IS_LESS(chosen, patience * sum)",
          "RMC_IS_LESS(zero + 0.5, patience) & b->has_leaf", TREE_LANES)],
        [INVARIANCE, TREES], (NUTS, TREE_LANES)),
    mutant(
        "nuts-stale-patience", False,
        "the number that chose a leaf decides on the next one, too", TREE,
        [("        t->n_choices[k] -= is_chosen;\n",
          "        t->n_choices[k] -= is_chosen & 0;\n"),
         ("RMC_COUNT(RMC_COUNTS(t->n_choices + k), is_chosen)",
          "RMC_COUNTS(t->n_choices + k)", TREE_LANES)],
        [TREES], (NUTS, TREE_LANES)),
    mutant(
        "nuts-turned-half", False,
        "a half that has turned is taken all the same", TREE,
        [("    if (t->has_leaf[k] && rmc_tree_has_half(t, k) &&\n",
          "    if (t->has_leaf[k] && !rmc_tree_has_half(t, k)) {\n"
          "        (void)rmc_tree_close_half(t, &sys->shape, k);\n"
          "    }\n"
          "    if (t->has_leaf[k] && rmc_tree_has_half(t, k) &&\n"),
         ("    const rmc_where is_last =",
          "    const rmc_where turned = b.has_leaf & ~b.goes_on;\n"
          "    close_bunch(t, dim, ld, k, &b, &turned);\n"
          "    const rmc_where is_last =", TREE_LANES)],
        [INVARIANCE], (NUTS, TREE_LANES)),
    mutant(
        "nuts-one-way", False, "trajectories grow forwards only", TREE,
        [("rmc_pick(forwards, sys->move.eps[k], -sys->move.eps[k])",
          "sys->move.eps[k] + 0.0 * u"),
         ("RMC_PICK(forwards, eps, -eps)", "eps", TREE_LANES),
         ("(forwards ^ RMC_IS_POSITIVE(RMC_NUMBERS(step + k)))",
          "(forwards & ~forwards)", TREE_LANES)],
        [INVARIANCE], (NUTS, TREE_LANES)),
    mutant(
        "nuts-half-weights", False,
        "the newer half is taken every second time", TREE,
        [("t->luck[k] * t->weight[k] < t->weight_half[k]", "t->luck[k] < 0.5"),
         ("RMC_IS_LESS(RMC_NUMBERS(t->luck + k) * weight, half)",
          "RMC_IS_LESS(RMC_NUMBERS(t->luck + k), half - half + 0.5)",
          TREE_LANES)],
        [INVARIANCE], (NUTS, TREE_LANES)),
    mutant(
        "nuts-no-kinetic-energy", False, "weights exp(lp)", NUTS,
        [("weight[k] = rmc_leaf_weight(h0[k], H);",
          "weight[k] = rmc_exp(lp[k]);")],
        [INVARIANCE, TREES]),
    mutant(
        "nuts-no-checks-in-halves", True,
        "U-turns are looked for in the whole trajectory only", TREE_LANES,
        [("        bunch_pair(dim, &first, b, &ones);\n",
          "        const rmc_where all = b->goes_on;\n"
          "        bunch_pair(dim, &first, b, &ones);\n"
          "        b->goes_on = all;\n"),
         ("            bunch_join(dim, a, &after, b, &ones);\n",
          "            const rmc_where all = b->goes_on;\n"
          "            bunch_join(dim, a, &after, b, &ones);\n"
          "            b->goes_on = all;\n")],
        [INVARIANCE, TREES]),
    mutant(
        "nuts-no-checks-in-halves-of-rows", True,
        "U-turns are looked for when a half is complete, not before, with many "
        "coordinates or in one lane", TREE,
        [("        goes_on = rmc_span_join(dim,",
          "        goes_on = (n & (n - 1)) || rmc_span_join(dim,")],
        [TREES], (NUTS,)),
    mutant(
        "nuts-no-seams", True,
        "turns across the seam of two halves are not looked for: not wrong, "
        "but trajectories run on", UTURN,
        [("for (size_t c = 1; c < 6; c++) {",
          "for (size_t c = 1; c < 2; c++) {")],
        [TREES], (NUTS,)),
    mutant(
        "nuts-half-a-seam", False,
        "the point after the seam is not looked at", UTURN,
        [("        least = sum < least ? sum : least;\n",
          "        least = c != 3 && sum < least ? sum : least;\n")],
        [TREES], (NUTS,)),
    mutant(
        "nuts-momentum-for-velocity", True, "rho . p where rho . v belongs",
        NUTS,
        [("kin->ops->velocity(kin->self, s, z->p, t->leaves.v);",
          "memcpy(t->leaves.v, z->p, rmc_cells(s) * sizeof(double));")],
        [TREES]),
    mutant(
        "walnuts-no-halving", False, "no macro step is halved", WALNUTS,
        [("w->high - w->low <= n->tolerance", "1")], [TREES]),
    mutant(
        "walnuts-energy-of-the-start", False,
        "energies are compared with that of the start of the macro step: not "
        "the same from its other end", WALNUTS,
        [("w->high - w->low <= n->tolerance",
          "fabs(h - (w->back < 0 ? w->from_h : w->to_h)) <= n->tolerance")],
        [TREES]),
    mutant(
        "walnuts-no-way-back", False,
        "the level of the way back is not compared", WALNUTS,
        [("        if (is_good) {\n            return HAS_NO_WAY_BACK;\n"
          "        }\n", "")],
        [INVARIANCE]),
    mutant(
        "tempered-swap-sign", False, "the swap prefers the worse order",
        TEMPERED,
        [("gap * (t->home.lp[b] - t->home.lp[a])",
          "gap * (t->home.lp[a] - t->home.lp[b])")],
        [tempered("leaves*"), tempered("finds*")]),
    mutant(
        "tempered-swap-gap", False,
        "the swap does without the difference of temperatures", TEMPERED,
        [("rmc_exp(gap * (t->home.lp[b] - t->home.lp[a]))",
          "rmc_exp(t->home.lp[b] - t->home.lp[a] + 0.0 * gap)")],
        [tempered("leaves*"), tempered("finds*")]),
    mutant(
        "tempered-swap-always", False, "every swap is made", TEMPERED,
        [("        if (u < ratio) {\n            swap_points",
          "        if (u < 2.0) {\n            swap_points")],
        [tempered("leaves*")]),
    mutant(
        "tempered-swap-gradient", False, "the gradients are not swapped",
        TEMPERED,
        [("exchange(&t->home.g[i + a], &t->home.g[i + b]);", ";")],
        [tempered("leaves*")]),
    mutant(
        "tempered-gradient-at-home", False,
        "the first kick of a replica is not tempered", TEMPERED,
        [("t->z.g[i * ld + j] *= b;", "t->z.g[i * ld + j] *= 1.0;")],
        [tempered("leaves*")]),
    mutant(
        "tempered-density", False, "only the force is tempered", TEMPERED,
        [("lp[j] = beta[j] * t->lp[j];", "lp[j] = t->lp[j];"),
         ("t->z.lp[j] *= b;", "t->z.lp[j] *= 1.0;")],
        [tempered("leaves*")]),
    mutant(
        "tempered-shared-stream", False, "replicas share their random numbers",
        TEMPERED,
        [("(uint32_t)(r + 1) << 16", "(uint32_t)(r > 99) << 16")],
        [tempered("leaves*")]),
    mutant(
        "tempered-even-pairs", False, "odd pairs are never tried", TEMPERED,
        [("t->is_odd[k] ^= 1;", "t->is_odd[k] ^= 0;")],
        [tempered("goes*")]),
    mutant(
        "tempered-restless", False, "warm-up does not end", TEMPERED,
        [("        if (sys->lanes.warming[k]) {", "        if (sys->lanes.busy[k]) {")],
        [tempered("warms*")]),
    mutant(
        "tempered-ladder", False, "the ladder stays as it was", TEMPERED,
        [("log_beta[r] = rmc_fma(part, old[s + 1] - old[s], old[s]);",
          "(void)part;")],
        [tempered("warms*")]),
    mutant(
        "run-shared-stream", False,
        "the lanes of an ensemble share their chain",
        "run/run_create.c",
        [(".chain = (uint32_t)(o->first_chain + e->first + k),",
          ".chain = (uint32_t)(o->first_chain + e->first),")],
        [SAMPLER_DRAWS]),
    # ---- adaptation ---------------------------------------------------------
    mutant(
        "search-goes-on", False,
        "a search for a step that is over takes numbers while others go on",
        "adapt/step_size.c",
        [("if (d->s[k] == 0.0) {", "if (d->s[k] == 2.0) {")],
        [ADAPT]),
    mutant(
        "never-frozen", False, "the step size goes on changing in a pilot",
        "adapt/auto.c",
        [("    if (p->task != RMC_PILOT) {\n        sys->move.eps[k]",
          "    if (p->task == RMC_PILOT) {\n        sys->move.eps[k]")],
        [ADAPT_AUTO]),
    mutant(
        "arms-are-necks", False, "walnuts wherever steps fail in some places",
        "adapt/auto_choose.c", [("v.neck < a->neck", "v.sticky > a->sticky")],
        [ADAPT_AUTO]),
    mutant(
        "tails-are-arms", False, "walnuts wherever steps fail in clusters",
        "adapt/auto.c",
        [("-1, 1, 0.35, offsetof(struct rmc_tuner, sticky)",
          "-1, 1, 0.25, offsetof(struct rmc_tuner, sticky)")],
        [ADAPT_AUTO]),
    mutant(
        "widest-pilot", False, "short pilots are held against the widest",
        "adapt/engine_score.c",
        [("sum += (double)n * variance_of(n, y);\n        draws += (double)n;",
          "sum = fmax(sum, variance_of(n, y));\n        draws = 1.0;")],
        [("unit-metric",)]),
    mutant(
        "wide-ridges", False, "the volume of a ridge is that of its box",
        "adapt/stuck_chains.c",
        [("width * slope > 1.0 ? 1.0 / slope : width",
          "slope < 0.0 ? 1.0 / slope : width")],
        [ADAPT_AUTO]),
    mutant(
        "blind-start", False, "chains begin where energies are not seen",
        "adapt/far_start.c", [("fabs(lp) > 1e14", "fabs(lp) > 1e300")],
        [ADAPT]),
    mutant(
        "stan-begins-elsewhere", False,
        "dual averaging begins at the step that was found", "adapt/stan_windows.c",
        [("is_first = sys->frame.epoch == 0", "is_first = sys->frame.epoch == 9")],
        [ADAPT]),
    mutant(
        "forgets-the-metric", False, "a metric that was given is replaced",
        "adapt/stan_windows.c", [("if (sys->frame.scale.diag)", "if (sys->frame.scale.chol)")],
        [ADAPT]),
    mutant(
        "deep-necks", False, "auto follows necks as far as walnuts alone does",
        "sampler/mcmc/auto.c", [("walnuts:levels=6", "walnuts:levels=10")],
        [ADAPT_AUTO]),
    mutant(
        "metric-without-root", False, "the Fisher metric is A B A",
        "transform/metric.c",
        [("m->values[i] > 0.0 ? sqrt(sqrt(m->values[i])) : 0.0",
          "m->values[i] > 0.0 ? sqrt(m->values[i]) : 0.0")],
        [("unit-metric",)]),
    # ---- the warp -------------------------------------------------------------
    mutant(
        "warp-volume", False, "the log determinant is left out", WARP,
        [("lp[k] += is_forward ? -log_D : log_D;", "lp[k] += 0.0 * log_D;")],
        [("statistical-warp", "test_warp__*funnel")]),
    mutant(
        "warp-hub-gradient", False,
        "what the hub does to the others has the wrong sign", WARP,
        [("g_hub[k] -= way *", "g_hub[k] += way *")],
        [ADAPT_AUTO]),
    mutant(
        "warp-published", False, "draws are published as they were made",
        "run/publish.c",
        [("    if (e->sys.frame.warp.n) {\n", "    if (e->sys.frame.warp.n > 99) {\n")],
        [ADAPT_AUTO]),
    mutant(
        "warp-rows", False, "draws of a window stay in the coordinates of old",
        "adapt/auto_windows.c",
        [("row < first + p->n; row++) {\n            way(",
          "row < first; row++) {\n            way(")],
        [ADAPT_AUTO]),
    mutant(
        "warp-not-evaluated", False,
        "gradients and densities that were carried over are kept",
        "adapt/auto_windows.c",
        [("return was_warped || a->fit.n_layers ? evaluate_all(m, err)",
          "return was_warped && !a->fit.n_layers ? evaluate_all(m, err)")],
        [RESUME]),
    mutant(
        "warp-checkpoint", False, "a run goes on in the target's coordinates",
        "adapt/auto.c",
        [("        rmc_tuner_set_scale(a, m);\n        rmc_tuner_set_warp(a, m);\n",
          "        rmc_tuner_set_scale(a, m);\n")],
        [RESUME, ("conformance-team",)]),
    mutant(
        "warp-own-metric", False,
        "a metric that was given is used in other coordinates",
        "adapt/auto.c",
        [("!a->has_engines || a->keeps_scale ||", "!a->has_engines ||")],
        [ADAPT_AUTO]),
    # ---- models -------------------------------------------------------------
    mutant(
        "gaussian-gradient", True, "gradient times 1.1", "model/gaussian.c",
        [("            grad[i * ld + k] = -w * z;",
          "            grad[i * ld + k] = -1.1 * w * z;")],
        [("conformance-model",)]),
    mutant(
        "banana-gradient", True, "gradient times 1.1", "model/banana.c",
        [("grad[k] = -x1 * rmc_fma", "grad[k] = -1.1 * x1 * rmc_fma")],
        [("conformance-model",)]),
    mutant(
        "schools-jacobian", False, "the density of tau, not of its logarithm",
        "model/schools.c",
        [("lp[k] = t - rmc_log1p(tau2)", "lp[k] = -rmc_log1p(tau2)"),
         ("grad[ld + k] = 1.0 - 2.0 /", "grad[ld + k] = -2.0 /")],
        [("conformance-model",)]),
    mutant(
        "schools-draws", False, "draws of the prior of tau",
        "model/schools.c",
        [("> c.log_marginal - m->top)", "> 0.0)")],
        [("conformance-model",)]),
    mutant(
        "volatility-first", False,
        "the first point as if it did not come from the stationary law",
        "model/volatility.c",
        [("grad[ld + k] = rmc_fma(law->phi[k], z2, grad[ld + k]);", "")],
        [("conformance-model",)]),
    mutant(
        "logistic-sign", False, "a sign of its own in the gradient",
        "model/regression/logistic.c",
        [("rmc_eight_put(z + j, rmc_eight_flip(missed, side));",
          "rmc_eight_put(z + j, rmc_eight_flip(missed, m));")],
        [("conformance-model",)]),
    # ---- stochastic gradients ------------------------------------------------
    mutant(
        "sghmc-no-noise", False, "the noise of the Euler scheme is dropped",
        SGHMC,
        [("p[at] = rmc_fma(sqrt(ours), h->room2[at], p[at]);", "(void)ours;")],
        [stochastic("law", "law__of_the_newtonian_euler*")]),
    mutant(
        "sghmc-friction-sign", False, "friction that pushes", SGHMC,
        [("p[at] = rmc_fma(-rate, h->room[at], p[at]);",
          "p[at] = rmc_fma(rate, h->room[at], p[at]);")],
        [stochastic("law", "law__of_the_newtonian_euler*")]),
    mutant(
        "sghmc-temperature", True, "the bath is at temperature 1, always",
        SGHMC,
        [(".temperature = h->T};\n\n    if (is_bounded",
          ".temperature = 1.0};\n\n    if (is_bounded")],
        [stochastic("law", "law__is_that_of_any_temperature")]),
    mutant(
        "sghmc-no-bath", True, "no heat bath at all", SGHMC,
        [("touch(h, sys, p, set, RELMC_FOR_NOISE, &bath);", "(void)bath;")],
        [stochastic("law", "order__*"), stochastic("law", "law__is_that*")]),
    mutant(
        "sghmc-whole-kicks", True,
        "BAOAB begins and ends with whole kicks", SGHMC,
        [("h->is_open[k] ? 0.5 * h->path.on[k]", "h->is_open[k] ? h->path.on[k]")],
        [stochastic("law", "law__of_newtonian_splittings*")]),
    mutant(
        "sgnht-no-laplacian", True,
        "d instead of the Laplacian, as if the mass were 1 at any speed",
        THERMOSTAT,
        [("double sum = -h->T * h->lap[k];",
          "double sum = -h->T * (double)s->dim;")],
        [stochastic("noise", "noise__shows*")]),
    mutant(
        "sgnht-sign", False, "a thermostat that heats what is hot", THERMOSTAT,
        [("h->zeta[k] += w * h->path.on[k]", "h->zeta[k] -= w * h->path.on[k]")],
        [stochastic("noise", "noise__shows*")]),
    mutant(
        "sghmc-no-clamp", True, "2 D T - eps B^ may be negative", SGHMC,
        [("if (ours < 0.0) {", "if (ours < -1e300) {")],
        [stochastic("noise", "noise__beyond*")]),
    mutant(
        "sgd-lr-misplaced", True, "the learning rate goes with the drift, too",
        SGHMC,
        [("h->drift = h->max_step * g;", "h->drift = h->max_step * g * h->lr;")],
        [("unit-sghmc",)]),
    mutant(
        "sgld-temperature", True, "the noise knows no temperature", SGLD,
        [("sqrt(2.0 * eps * h->temperature * G)", "sqrt(2.0 * eps * G)")],
        [stochastic("law", "law__of_sgld*")]),
    mutant(
        "sgld-adam-state", True, "the preconditioner is not written back", SGLD,
        [("h->V[j] = rmc_fma(h->beta, h->V[j], (1.0 - h->beta) * square);",
          "h->V[j] = (1.0 - h->beta) * square;")],
        [("unit-sghmc",)]),
    mutant(
        "batch-scale", True, "the factor N/n is missing", "target/minibatch.c",
        [("b->scale = (double)n / (double)plan->n_rows;", "b->scale = 1.0;")],
        [("unit-batch",)]),
    mutant(
        "batch-fresh", False, "fresh minibatches go on through the epoch",
        "target/minibatch.c", [("if (b->is_fresh || ", "if (")],
        [("unit-batch",)]),
    mutant(
        "batch-white", False, "thermostats have minibatches that know each "
        "other", "run/run_create.c",
        [("&& sampler->wants_white_noise(self)",
          "&& !sampler->wants_white_noise(self)")],
        [stochastic("noise", "noise__of_minibatches*")]),
    mutant(
        "batch-epoch", False, "every epoch in the same order", "target/minibatch.c",
        [("const size_t j = i + below(stream, (uint32_t)(n - i));",
          "const size_t j = i;\n        (void)stream, (void)below;")],
        [("unit-batch",)]),
    mutant(
        "control-variate", False, "the gradient at the centre is not put back",
        "target/evaluate.c",
        [("g[i] += b->center_grad[i] - slope[i];", "g[i] -= slope[i];")],
        [("unit-batch",)]),
    mutant(
        "density-draw", False, "all draws have the random numbers of the first",
        "target/density.c",
        [("c->n_drawn++, c->about.number", "c->n_drawn, c->about.number")],
        [("conformance-density",)]),
    mutant(
        "regression-scale", False, "N/n missing from the gradient of a batch",
        "model/regression/prior_inline.h",
        [("rmc_fma(scale, s[k], -w * b)",
          "rmc_fma(scale > 0.0 ? 1.0 : 0.0, s[k], -w * b)")],
        [("conformance-data-model",)],
        ("model/regression/linear.c", "model/regression/logistic.c", "model/regression/softmax.c")),
    mutant(
        "design-copies", False, "rows beyond the last counted again",
        "model/regression/logistic.c",
        [("for (size_t j = is->n * columns; j < all; j++) {",
          "for (size_t j = all; j < all; j++) {")],
        [("conformance-data-model",)]),
    mutant(
        "strip-width", False, "kernels for 6 coordinates take 5",
        "model/regression/design_narrow_inline.h",
        [("kernel(s, 6, from, to);", "kernel(s, 5, from, to);")],
        [("conformance-data-model",)],
        ("model/regression/linear.c", "model/regression/logistic.c")),
    mutant(
        "softmax-base", False, "the largest exponent missing from the density",
        "model/regression/softmax.c",
        [("like[j] += (right[j] - top[j]) - rmc_log(total[j]);",
          "like[j] += right[j] - rmc_log(total[j]);")],
        [("conformance-data-model",)]),
    mutant(
        "linear-jacobian", False, "the count of rows missing from d lp / ds",
        "model/regression/linear.c",
        [("misfit - n, -w * s", "misfit, -w * s")],
        [("conformance-data-model",)]),
    # ---- optimisers ------------------------------------------------------------
    mutant(
        "descent-no-way-back", False, "a failed step is not taken back", DESCENT,
        [("            d->x[i] = z->x[i];\n", "")],
        [("conformance-optimiser", "test_optimiser__survives*")]),
    mutant(
        "descent-same-batch", False, "every step sees the first minibatch",
        DESCENT,
        [("    relmc_advance(sys);\n"
          "    const relmc_status status = relmc_eval(sys, d->x",
          "    const relmc_status status = relmc_eval(sys, d->x")],
        [("conformance-optimiser", "test_optimiser__finds*")]),
    mutant(
        "descent-decay-schedule", True, "decay does not follow the schedule",
        DESCENT, [("1.0 - d->decay * part", "1.0 - d->decay")],
        [("unit-optimisers",)]),
    mutant(
        "adam-bias", True, "no correction of the second moment",
        "sampler/optimizer/adam.c", [("1.0 / (1.0 - a->power2)", "1.0")],
        [("unit-optimisers",)]),
    mutant(
        "nesterov-plain", True, "no look ahead",
        "sampler/optimizer/descent_loops_inline.h",
        [("fma_of(mu, to, kick));", "to);")],
        [("unit-optimisers",)], ("sampler/optimizer/heavy_ball.c",)),
    mutant(
        "single-checkpoint", False,
        "checkpoints have no momenta of single precision",
        "sampler/float_state.c",
        [("    RMC_ISA(rmc_floats_archive)(archive, &sys->shape, k, f->p, "
          "sys->scratch.v);\n", "")],
        [("unit-single_bits", "test_checkpoints*")]),
    mutant(
        "single-no-limit", False,
        "large momenta stand still in single precision",
        "kinetic/separable_float.c",
        [("    q = most < q ? most : q; /* NaN stays */\n", "")],
        [("unit-single", "test_steps*")]),
    mutant(
        "single-heat", False, "half of N^2 in the widths of single precision",
        "kinetic/separable_float.c",
        [("sqrt(0.5 * T / kin->beta[i] * s)",
          "sqrt(0.25 * T / kin->beta[i] * s)")],
        [("unit-heat", "test_noise*")]),
    mutant(
        "single-choice", False, "a choice of roots with eight bits",
        "kinetic/separable_float.c", [("bits << 16 | 0x8000U",
                                   "bits << 24 | 0x800000U")],
        [("unit-heat", "test_noise*")]),
    mutant(
        "single-whole-kicks", False,
        "BAOAB begins with whole kicks in single precision", SGHMC_FLOAT,
        [("h->is_open[k] ? 0.5F * kick : kick", "kick")],
        [("unit-single", "test_law*")]),
    mutant(
        "santa-precondition", True,
        "the preconditioner sees gradients on the scale of the sum",
        "sampler/optimizer/santa.c",
        [("        sys->target.n_data ? 1.0 / (double)sys->target.n_data : 1.0;",
          "        1.0;")],
        [("unit-optimisers",)]),
    mutant(
        "santa-thermostat", False, "half of the thermostat twice",
        "sampler/optimizer/santa.c", [("warmth : 0.5 * warmth", "warmth : warmth")],
        [("unit-optimisers",)]),
    mutant(
        "checkpoint-slice", False, "checkpoints have no slice variable", GHMC,
        [("    relmc_archive_reals(a, &g->u[k], 1);\n", "")], [RESUME]),
    mutant(
        "checkpoint-momentum", True, "checkpoints have no momentum",
        "run/checkpoint_state.c",
        [("    relmc_archive_lane(a, s, k, e->z.p);\n", "")], [RESUME]),
    mutant(
        "checkpoint-stopped", False,
        "chains that were stopped count as having arrived", "run/drive.c",
        [("            run->position = least_done(run);\n", "")], [RESUME]),
    mutant(
        "tuning-warp", False, "a tuning is given without its warp",
        "run/tuning_read.c",
        [("    if (t->n_layers) {\n        status", "    if (!t->n_layers) {\n        status")],
        [TUNING]),
    mutant(
        "tuning-points", False,
        "a tuning keeps where chains are in warped coordinates", "run/tuning.c",
        [("    if (frame->warp.n) {", "    if (frame->warp.n > frame->warp.n) {")],
        [TUNING]),
    mutant(
        "metric-of-a-chain", False, "all chains get the metric of the first one",
        "run/run_create.c",
        [("const size_t row = is_own ? e->first + k : 0;",
          "const size_t row = is_own ? 0 * k : 0;")],
        [METRIC]),
    mutant(
        "stuck-on-the-way", False,
        "chains that were stuck early count as stuck at the end",
        "adapt/auto_chains.c",
        [("        if (is_late) {", "        if (is_late || 1) {")], [ADAPT_AUTO]),
    mutant(
        "stopped-sync", False,
        "a stop at a sync point skips it", "run/drive.c",
        [("is_sync && status >= 0 && ", "is_sync && !status && ")],
        [RESUME]),
    mutant(
        "checkpoint-end", False, "the end of a file is taken for draws",
        "sink/csv.c",
        [("f->end >= 0 ? f->end : ftell(f->base.stream)",
          "ftell(f->base.stream)")],
        [RESUME]),
]

# Bugs that golden-hash does not find (run.py --list-same-draws).
SAME_DRAWS = tuple("""
    cruise-of-one-dimension rejection-hat rejection-shared-stream lanes-same-words
    tempered-swap-sign tempered-swap-gap tempered-swap-always tempered-swap-gradient
    tempered-gradient-at-home tempered-density tempered-shared-stream
    tempered-even-pairs tempered-restless tempered-ladder arms-are-necks
    tails-are-arms widest-pilot wide-ridges blind-start stan-begins-elsewhere
    forgets-the-metric deep-necks warp-checkpoint warp-own-metric schools-draws
    volatility-first sghmc-no-clamp sgld-temperature batch-scale batch-fresh
    batch-white batch-epoch control-variate strip-width descent-no-way-back
    descent-same-batch single-checkpoint single-no-limit single-heat single-choice
    single-whole-kicks santa-precondition checkpoint-slice checkpoint-momentum
    checkpoint-stopped
""".split())
