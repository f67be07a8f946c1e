#!/usr/bin/env bash
# The trainer of `erreval refine train`, run truly: tiny random encoders are fine-tuned as identifier and verifier on the sample questions, once in one
# go and once killed (kill -9) and gone on with, which must give the same weights; erreval imports each and must give the logits that torch gives.
#   training/e2e.sh OUT [PYTHON]
# PYTHON has torch and transformers (training/requirements.txt). A minute or two.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
out=${1:?usage: e2e.sh OUT [PYTHON]}
python=${2:-python3}
mkdir -p "$out"
out=$(cd "$out" && pwd)
"$python" "$here/e2e_rows.py" "$root/testdata/samples/questions_gold.jsonl" <("$root/bin/erreval" taxonomy show question-generation --json) "$out"

train() { # FOLDER [KILL]: KILL is the step after which the run is killed once
  rm -rf "$out/$1"
  "$python" "$here/e2e_rows.py" --config "$out" "$task" "$kind" "$1" > "$out/$1.json"
  if [ "${2:-}" ]; then
    "$python" "$here/finetune.py" "$out/$1.json" > "$out/$1.log" 2> "$out/$1.err" &
    local trainer=$!
    until grep -q "\"epoch\": $2, .*dev_micro_f1" "$out/$1.log"; do kill -0 $trainer || { cat "$out/$1.err" >&2; return 1; }; done
    kill -9 $trainer
    wait $trainer 2>/dev/null || true
    [ ! -e "$out/$1/result.json" ] || { echo "$1 was done before it could be killed" >&2; return 1; }
  fi
  "$python" "$here/finetune.py" "$out/$1.json" > "$out/$1.log" 2> "$out/$1.err" || { cat "$out/$1.err" >&2; return 1; }
}

compare() { # JOIN: erreval's logits beside torch's
  local fields=question,answer,passage import=(--labels taxonomy)
  [ $task = identifier ] || { fields=label_set,$fields; import=(--taxonomy "$here/e2e_verifier.yaml"); }
  "$python" "$here/record_logits.py" "$out/whole" "$out/${task}_texts.jsonl" --join "$1" --fields $fields --limit 20 -o "$out/reference.json" 2> /dev/null
  "$root/bin/erreval" models import "$out/whole" "${import[@]}" --join "$1" --verify "$out/reference.json" -o "$out/model" --overwrite --quiet > "$out/report"
  echo "$kind $task, $1: $(grep ^verified "$out/report")"
}

refused() { # WORDS KEY VALUE [OPTION]: with this in its configuration the trainer says what to mend, and has no trace of calls
  "$python" -c 'import json, sys; c = json.load(open(sys.argv[1])); c[sys.argv[2]] = sys.argv[3]; print(json.dumps(c))' "$out/whole.json" "$2" "$3" > "$out/refused.json"
  if "$python" ${4:+"$4"} "$here/finetune.py" "$out/refused.json" > /dev/null 2> "$out/refused.err"; then echo "$2 $3 is not refused" >&2; return 1; fi
  if ! grep -q "^finetune.py: .*$1" "$out/refused.err" || grep -q '^Traceback' "$out/refused.err"; then cat "$out/refused.err" >&2; return 1; fi
  echo "refused: $1"
}

for kind in bert roberta; do
  rm -rf "${out:?}/$kind"
  "$python" "$here/tiny_encoder.py" $kind "$out/$kind" "$root/testdata/samples/questions.jsonl" 2> /dev/null
  for task in identifier verifier; do
    train whole
    train killed 2
    cmp "$out/whole/model.safetensors" "$out/killed/model.safetensors"
    echo "$kind $task: killed after 2 epochs and gone on with, the weights are the same"
    tail -n 1 "$out/killed.log"
    compare fields
  done
done
kind=roberta task=identifier
train whole
compare text
rm -rf "$out/whole/result.json" "$out/whole"/*.pt
export HF_HUB_OFFLINE=1 CUDA_VISIBLE_DEVICES=
refused "lacks what training needs" seed 1 -S
refused "the device is cuda, but torch finds no NVIDIA GPU" device cuda
refused "the encoder '$out/none' cannot be loaded" encoder "$out/none"
mkdir -p "$out/electra"
echo '{"model_type": "electra"}' > "$out/electra/config.json"
refused "the encoder '$out/electra' is of the architecture electra, which erreval does not run; take one of bert," encoder "$out/electra"
