from textgamut.config.loading import load_config as load_config
from textgamut.errors import TextgamutError as TextgamutError
from textgamut.features.embed import embed as embed
from textgamut.features.reduce import reduce_features as reduce_features
from textgamut.metrics.divergence import divergence_metrics as divergence_metrics
from textgamut.metrics.likelihood import likelihood as likelihood
from textgamut.metrics.ngram import distinct_n as distinct_n
from textgamut.metrics.ngram import diversity as diversity
from textgamut.metrics.ngram import repetition_n as repetition_n
from textgamut.metrics.ngram import self_bleu as self_bleu
from textgamut.metrics.support import bootstrap_intervals as bootstrap_intervals
from textgamut.metrics.support import group_metrics as group_metrics
from textgamut.metrics.support import support_metrics as support_metrics
from textgamut.metrics.support import support_sweep as support_sweep
from textgamut.rankings.bradley_terry import fit_bradley_terry as fit_bradley_terry
from textgamut.rankings.dominance import dominance_orders as dominance_orders
from textgamut.rankings.dominance import pareto_front as pareto_front
from textgamut.rankings.qtext import q_text as q_text
from textgamut.rankings.qtext import tune_q_text as tune_q_text
from textgamut.rankings.ufg_depth import ufg_depth as ufg_depth
from textgamut.scoring import compare as compare
from textgamut.scoring import score as score

__all__: list[str]
__version__: str
