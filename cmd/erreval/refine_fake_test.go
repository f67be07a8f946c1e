package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/training/refine"
)

// fakeTrainer is a trainer as refine.Train runs it, without torch: of the tiny recorded BERT in $FAKE_CHECKPOINT it
// makes a checkpoint with as many labels as the job has, whose head depends on the number of training rows.
// FAKE_TRAINER says how it misbehaves.
func fakeTrainer() {
	if err := runFakeTrainer(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "faketrainer:", err)
		os.Exit(1)
	}
}

func runFakeTrainer(config string) error {
	data, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	var job refine.Job
	if err := json.Unmarshal(data, &job); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, `{"step": 1, "steps": 2, "epoch": 1, "loss": 0.5, "seconds": 3}`)
	fmt.Fprintln(os.Stderr, "a word of the trainer")
	fmt.Fprintln(os.Stdout, `{"step": 2, "steps": 2, "epoch": 1, "loss": 0.25, "dev_micro_f1": 0.5, "seconds": 6}`)
	switch os.Getenv("FAKE_TRAINER") {
	case "fails":
		return errors.New("CUDA out of memory; give a smaller batch")
	case "leaves":
		return nil
	case "hangs":
		if err := os.WriteFile(job.Out+".pid", []byte(fmt.Sprint(os.Getpid())), 0o666); err != nil {
			return err
		}
		select {}
	}
	labels := job.Labels
	if job.Task == refine.TaskVerifier {
		labels = []string{refine.RightLabels}
	}
	rows, err := os.ReadFile(job.Train)
	if err != nil {
		return err
	}
	err = writeFake(os.Getenv("FAKE_CHECKPOINT"), job.Out, labels, strings.Count(string(rows), "\n"))
	if os.Getenv("FAKE_TRAINER") == "spoils" {
		err = errors.Join(err, os.WriteFile(filepath.Join(job.Out, "config.json"), []byte("{}"), 0o666))
	}
	return err
}

func writeFake(from, out string, labels []string, turn int) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err = errors.Join(err, os.WriteFile(filepath.Join(out, name), data, 0o666)); err != nil {
			return err
		}
	}
	names := map[string]string{}
	for i, label := range labels {
		names[fmt.Sprint(i)] = label
	}
	config := map[string]any{}
	data, err := os.ReadFile(filepath.Join(from, "config.json"))
	if err = errors.Join(err, json.Unmarshal(data, &config)); err != nil {
		return err
	}
	config["id2label"], config["problem_type"] = names, "multi_label_classification"
	delete(config, "label2id")
	if data, err = json.Marshal(config); err != nil {
		return err
	}
	weights, err := fakeWeights(filepath.Join(from, "model.safetensors"), len(labels), turn)
	return errors.Join(err, os.WriteFile(filepath.Join(out, "config.json"), data, 0o666),
		os.WriteFile(filepath.Join(out, "model.safetensors"), weights, 0o666),
		os.WriteFile(filepath.Join(out, "result.json"), []byte(`{"best_epoch": 1, "steps": 2, "seconds": 6, "dev": {"micro_f1": 0.5}}`+"\n"), 0o666))
}

// tensor is an entry of a safetensors header.
type tensor struct {
	Type    string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// fakeWeights turns the classifier's rows, and repeats or cuts them to as many as there are labels.
func fakeWeights(path string, labels, turn int) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint64(data)
	header, body, values := map[string]tensor{}, data[8+size:], []byte(nil)
	if err := json.Unmarshal(data[8:8+size], &header); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		t := header[name]
		rows := body[t.Offsets[0]:t.Offsets[1]]
		if strings.HasPrefix(name, "classifier.") {
			rows = turned(rows, t.Shape[0], labels, turn)
			t.Shape[0] = labels
		}
		t.Offsets = [2]int{len(values), len(values) + len(rows)}
		values, header[name] = append(values, rows...), t
	}
	head, err := json.Marshal(header)
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), values...), err
}

// turned takes n of the rows in values, from the turn-th on and over again.
func turned(values []byte, rows, n, turn int) (out []byte) {
	width := len(values) / rows
	for i := range n {
		at := (i + turn) % rows
		out = append(out, values[at*width:(at+1)*width]...)
	}
	return out
}
