"""Hugging Face models as language models.

R rows, T positions, N target positions, V vocabulary.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from objectives.inference.language_model import LanguageModel


class HuggingFaceLanguageModel(LanguageModel):
    """An `AutoModelForMaskedLM` or `AutoModelForCausalLM`, with the special tokens of its tokenizer.

    When the tokenizer of a causal model puts nothing before a text, its beginning-of-sentence token is put there, if it
    has one. Supports models whose head reads `last_hidden_state` of the base model: BERT, RoBERTa, ModernBERT, GPT-2
    and similar ones.

    Args:
        model: the Hugging Face model.
        tokenizer: its tokenizer.
        causal: whether it is a causal model.

    Raises:
        ValueError: when a special token of the tokenizer is not in the model's vocabulary.
    """

    def __init__(self, model: Any, tokenizer: Any, causal: bool) -> None:
        self.module, self.causal = model, causal
        self.bos, self.eos = _special_tokens_around(tokenizer)
        if causal and not self.bos and tokenizer.bos_token_id is not None:
            self.bos = (tokenizer.bos_token_id,)
        self.mask = None if causal else tokenizer.mask_token_id
        self.end_of_text = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
        self.vocabulary_size = model.config.vocab_size
        needed = (*self.bos, *self.eos, *(i for i in (self.mask, self.end_of_text) if i is not None))
        if max(needed, default=0) >= self.vocabulary_size:
            raise ValueError(
                "a special token of the tokenizer is not in the model's vocabulary: they do not belong together"
            )
        # Ids without a token stand for no text: holes in the tokenizer's numbering, and the surplus of a larger
        # embedding. It may be smaller too, when a special token was added that the model has never seen.
        unused = set(range(self.vocabulary_size)).difference(tokenizer.get_vocab().values())
        self.specials = frozenset(i for i in (*tokenizer.all_special_ids, *unused) if i < self.vocabulary_size)
        self.max_length = _max_length(model, tokenizer)

    def logits(self, inputs_RT: Tensor, targeted_RT: Tensor) -> Tensor:
        """As in the base class; only target positions reach the head.

        Raises:
            ValueError: when the head does not read the base model's last_hidden_state.
        """

        def keep_targeted(base: Any, arguments: Any, output: Any) -> Any:
            output.last_hidden_state = output.last_hidden_state[targeted_RT][None]
            return output

        hook = self.module.base_model.register_forward_hook(keep_targeted)
        try:
            logits_1NV = self.module(input_ids=inputs_RT).logits
        finally:
            hook.remove()
        if logits_1NV.shape[:2] != (1, int(targeted_RT.sum())):
            raise ValueError(f"models of the kind {type(self.module).__name__} are not supported")
        return logits_1NV[0].float()


def _special_tokens_around(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special tokens that a tokenizer puts before and after a text."""
    encoded = tokenizer("a", return_special_tokens_mask=True)
    ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
    first = special.index(0)
    last = len(special) - special[::-1].index(0)
    return tuple(ids[:first]), tuple(ids[last:])


def _max_length(model: Any, tokenizer: Any) -> int:
    positions = getattr(model.config, "max_position_embeddings", None) or tokenizer.model_max_length
    # RoBERTa numbers positions from the id of its padding token plus one.
    embeddings = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    padding = getattr(embeddings, "padding_idx", None)
    return min(positions - (0 if padding is None else padding + 1), tokenizer.model_max_length)
