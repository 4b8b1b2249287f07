# Gaussian processes of scikit-learn 1.9.1, for learn/tests/gaussian_process.rs: likelihoods, predictions and
# deviations at given hyperparameters, and the best likelihood that its own optimizer finds.
import json, pathlib, warnings
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor as GPR
from sklearn.gaussian_process.kernels import ConstantKernel as C, DotProduct, Matern, RBF, WhiteKernel as W
warnings.filterwarnings("ignore")
rng = np.random.default_rng(5)
n = 70
X = np.column_stack([rng.uniform(1, 64, n), rng.uniform(0, 1, n), rng.integers(1, 9, n)]).round(6)
y = (3 * np.log(X[:, 0]) + np.sin(6 * X[:, 1]) * X[:, 2] + rng.normal(0, .2, n)).round(6)
T = np.column_stack([rng.uniform(1, 64, 8), rng.uniform(0, 1, 8), rng.integers(1, 9, 8)]).round(6)
mx, sx, my, sy = X.mean(0), X.std(0), y.mean(), y.std()
Z, z, TZ = (X - mx) / sx, (y - my) / sy, (T - mx) / sx
out = {"x": X.tolist(), "y": y.tolist(), "test": T.tolist(), "cases": []}
for name, make in [("matern32", lambda l: Matern(l, nu=1.5)), ("matern52", lambda l: Matern(l, nu=2.5)), ("rbf", lambda l: RBF(l))]:
    for mean in ["constant", "linear"]:
        for (ls, noise, s2, b2) in [(1.0, 0.01, 1.0, 1.0), (2.5, 0.1, 3.0, 0.4)]:
            k = C(s2) * make(ls) + W(noise)
            if mean == "linear":
                k = k + C(b2) * DotProduct(1.0)
            g = GPR(k, optimizer=None, alpha=0.0).fit(Z, z)
            m, s = g.predict(TZ, return_std=True)
            out["cases"].append({"spec": f"gp:kernel={name},mean={mean},length_scale={ls},noise={noise},signal={s2},linear={b2},fit=false",
                "log_marginal_likelihood": g.log_marginal_likelihood_value_, "mean": (m * sy + my).tolist(), "sigma": (s * sy).tolist()})
        k = C(1.0, (1e-5, 1e5)) * make(np.ones(3)) + W(0.1, (1e-8, 10))
        if mean == "linear":
            k = k + C(1.0, (1e-8, 1e4)) * DotProduct(1.0, "fixed")
        g = GPR(k, n_restarts_optimizer=8, random_state=0, alpha=0.0).fit(Z, z)
        out["cases"].append({"spec": f"gp:kernel={name},mean={mean}", "best": g.log_marginal_likelihood_value_})
pathlib.Path(__file__).with_name("scikit-learn-gp.json").write_text(json.dumps(out))
print([c.get("best", c.get("log_marginal_likelihood")) for c in out["cases"]])
