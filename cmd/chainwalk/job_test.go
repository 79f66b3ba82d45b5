package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// job is the manifest in docs, which has no field that the API does not know.
func job(t *testing.T) *batchv1.Job {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "fuzz-job.yaml"))
	require.NoError(t, err)
	j := &batchv1.Job{}
	require.NoError(t, yaml.UnmarshalStrict(text, j))
	return j
}

// runAs runs the command of a pod's container as the pod of an index does, with a program in chainwalk's place that
// prints what it is asked for and ends with a status.
func runAs(t *testing.T, c *corev1.Container, index, status int) (printed string, ended int) {
	program := write(t, "chainwalk", fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$@\"\nexit %d\n", status))
	require.NoError(t, os.Chmod(program, 0o700))
	argv := append(append([]string{}, c.Command...), c.Args...)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "/usr/bin/chainwalk", program)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index)}
	for _, v := range c.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	out, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestTheJobInDocsRunsEveryShard(t *testing.T) {
	j := job(t)
	require.NotNil(t, j.Spec.CompletionMode)
	assert.Equal(t, batchv1.IndexedCompletion, *j.Spec.CompletionMode)
	assert.Equal(t, "batch/v1 Job", j.APIVersion+" "+j.Kind)
	assert.Equal(t, corev1.RestartPolicyNever, j.Spec.Template.Spec.RestartPolicy, "backoffLimitPerIndex takes it")
	pod := j.Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	folders := map[string]bool{}
	for index := range int(*j.Spec.Completions) {
		printed, status := runAs(t, &pod.Containers[0], index, exitHeld)
		assert.Zero(t, status)
		args := strings.Split(strings.TrimSuffix(printed, "\n"), "\n")
		require.Equal(t, "fuzz", args[0])
		var o fuzzOptions
		cmd := fuzzCommand(streams{}, &o)
		require.NoError(t, cmd.ParseFlags(args[1:]))
		assert.Empty(t, cmd.Flags().Args())
		options, err := o.options()
		require.NoError(t, err)
		assert.Equal(t, index+1, options.Shard)
		assert.Equal(t, int(*j.Spec.Completions), options.Shards)
		assert.Positive(t, o.time)
		folders[o.out] = true
		assert.Equal(t, pod.Containers[0].VolumeMounts[0].MountPath, filepath.Dir(o.out))
	}
	assert.Len(t, folders, int(*j.Spec.Completions), "each writes into a folder of its own")
	assert.Equal(t, pod.Volumes[0].Name, pod.Containers[0].VolumeMounts[0].Name)
}

// A shard that found something has done its work; one that could not run has not.
func TestTheJobInDocsFailsIfAShardCannotRun(t *testing.T) {
	c := &job(t).Spec.Template.Spec.Containers[0]
	for status, want := range map[int]int{exitHeld: 0, exitNotHeld: 0, exitUsage: 1} {
		_, ended := runAs(t, c, 0, status)
		assert.Equal(t, want, ended, "status %d", status)
	}
}
