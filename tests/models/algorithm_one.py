"""Algorithm 1 of the paper as anyone would write it: NumPy, plain loops, Euler over the union of a batch's times."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class SlowGRUODEBayes:
    """The weights of a GRU-ODE-Bayes model, used by nothing but the formulas of the paper."""

    def __init__(self, model, dt, noise=0.01):
        self.dt, self.noise = dt, noise
        f, g, p, o = model.ode.dynamics, model.bayes.cell, model.bayes.prep, model.f_obs
        to = np.asarray
        self.U_r, self.U_z = np.split(to(f.gates), 2)
        self.b_r, self.b_z = np.split(to(f.gates_bias), 2)
        self.U_h, self.b_h = to(f.candidate), to(f.candidate_bias)
        self.prep_W, self.prep_b = to(p.weight), to(p.bias)
        self.gru_in, self.gru_h, self.gru_b, self.gru_bn = (to(a) for a in (g.weight_ih, g.weight_hh, g.bias, g.bias_n))
        self.obs = [(to(o.hidden.weight), to(o.hidden.bias)), (to(o.out.weight), to(o.out.bias))]
        self.h0 = np.tanh(to(model.h0.out))

    def field(self, h):
        r = sigmoid(self.U_r @ h + self.b_r)
        z = sigmoid(self.U_z @ h + self.b_z)
        g = np.tanh(self.U_h @ (r * h) + self.b_h)
        return (1 - z) * (g - h)

    def f_obs(self, h):
        (W1, b1), (W2, b2) = self.obs
        return (W2 @ np.maximum(W1 @ h + b1, 0) + b2).reshape(-1, 2).T  # means, log-variances

    def gru_bayes(self, h, y, m):
        mean, log_var = self.f_obs(h)
        pieces = []
        for d in range(len(y)):
            q = np.array([y[d], mean[d], log_var[d], (y[d] - mean[d]) / np.exp(log_var[d] / 2)])
            pieces.append(np.maximum(self.prep_W[d] @ q + self.prep_b[d], 0) * m[d])
        i_r, i_z, i_n = np.split(self.gru_in @ np.concatenate(pieces) + self.gru_b, 3)
        h_r, h_z, h_n = np.split(self.gru_h @ h, 3)
        r, z = sigmoid(i_r + h_r), sigmoid(i_z + h_z)
        n = np.tanh(i_n + r * (h_n + self.gru_bn))
        return n + z * (h - n)

    def pre_loss(self, h, y, m):
        mean, log_var = self.f_obs(h)
        return np.sum(m * 0.5 * (np.log(2 * np.pi) + log_var + (y - mean) ** 2 / np.exp(log_var)))

    def post_loss(self, before, after, y, m):
        (mean, log_var), (post_mean, post_log_var) = self.f_obs(before), self.f_obs(after)
        var = np.exp(log_var)
        bayes_mean = (self.noise**2 * mean + var * y) / (var + self.noise**2)
        bayes_var = var * self.noise**2 / (var + self.noise**2)
        ratio = bayes_var / np.exp(post_log_var)
        return np.sum(m * 0.5 * (ratio + (bayes_mean - post_mean) ** 2 / np.exp(post_log_var) - 1 - np.log(ratio)))

    def run(self, times, values, masks):
        """`times[i]` are when series i was observed, whole multiples of dt; returns both losses and final states."""
        h = [self.h0.copy() for _ in times]
        pre = post = 0.0
        now = 0
        for t in sorted({round(t / self.dt) for series in times for t in series}):
            for _ in range(t - now):
                h = [state + self.dt * self.field(state) for state in h]
            now = t
            for i, series in enumerate(times):
                for k, when in enumerate(series):
                    if round(when / self.dt) != t:
                        continue
                    pre += self.pre_loss(h[i], values[i][k], masks[i][k])
                    before = h[i]
                    h[i] = self.gru_bayes(before, values[i][k], masks[i][k])
                    post += self.post_loss(before, h[i], values[i][k], masks[i][k])
        return pre, post, np.array(h)
