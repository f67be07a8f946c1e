// Command k8scheck reads a Job as Kubernetes would with strict validation of fields: unknown fields, fields that are
// given twice and wrong types are faults. With -index N it prints the command of that index, a word a line. It is a
// module of its own, so that the program does not depend on Kubernetes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	index := flag.String("index", "", "print the command of the `N`-th index instead")
	flag.Parse()
	for _, path := range flag.Args() {
		job, err := read(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "error: %s: %v\n", path, err)
			os.Exit(1)
		}
		if *index == "" {
			fmt.Println(path, "is a Job")
			continue
		}
		for _, word := range job.Spec.Template.Spec.Containers[0].Command {
			fmt.Println(strings.ReplaceAll(word, "$(JOB_COMPLETION_INDEX)", *index))
		}
	}
}

func read(path string) (*batchv1.Job, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var job batchv1.Job
	if err := yaml.UnmarshalStrict(data, &job); err != nil {
		return nil, err
	}
	return &job, validate(&job)
}

// validate knows what the API server refuses besides types, for the fields that our manifest uses.
func validate(job *batchv1.Job) error {
	var errs []error
	want := func(ok bool, text string) {
		if !ok {
			errs = append(errs, errors.New(text))
		}
	}
	spec := job.Spec
	want(job.APIVersion == "batch/v1" && job.Kind == "Job" && job.Name != "", "it is no batch/v1 Job with a name")
	want(spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion,
		"completionMode is not Indexed, which backoffLimitPerIndex needs")
	want(spec.BackoffLimitPerIndex != nil, "backoffLimitPerIndex is missing")
	want(spec.Template.Spec.RestartPolicy == corev1.RestartPolicyNever,
		"restartPolicy is not Never, which podFailurePolicy needs")
	want(spec.Completions != nil && spec.MaxFailedIndexes != nil && *spec.MaxFailedIndexes <= *spec.Completions,
		"maxFailedIndexes is more than completions")
	names := map[string]bool{}
	for _, c := range spec.Template.Spec.Containers {
		names[c.Name] = true
	}
	want(len(names) > 0, "there is no container")
	failsIndex := false
	if spec.PodFailurePolicy != nil {
		for _, rule := range spec.PodFailurePolicy.Rules {
			codes := rule.OnExitCodes
			failsIndex = failsIndex || rule.Action == batchv1.PodFailurePolicyActionFailIndex && codes != nil
			want((codes == nil) != (len(rule.OnPodConditions) == 0), "a rule has not one of onExitCodes and onPodConditions")
			if codes != nil && codes.ContainerName != nil {
				want(names[*codes.ContainerName], "a rule names the container "+*codes.ContainerName+", which is not there")
			}
		}
	}
	want(failsIndex, "no exit code fails an index for good")
	return errors.Join(errs...)
}
