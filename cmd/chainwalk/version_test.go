package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionSaysCommitAndGo(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	for name, tc := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"from a clone": {debug.BuildInfo{
			GoVersion: "go1.2", Main: debug.Module{Version: "v0.0.0-2026"}, Settings: []debug.BuildSetting{revision, {Key: "vcs.modified",
				Value: "false"}},
		}, "commit 0123456789abcdef\nGo go1.2\n"},
		"from a clone with changes": {debug.BuildInfo{
			GoVersion: "go1.2", Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}},
		}, "commit 0123456789abcdef with changes\nGo go1.2\n"},
		"from a downloaded module": {debug.BuildInfo{GoVersion: "go1.2", Main: debug.Module{Version: "v1.0.0"}}, "commit v1.0.0\nGo go1.2\n"},
		"without a version control": {debug.BuildInfo{GoVersion: "go1.2", Main: debug.Module{Version: "(devel)"}},
			"commit unknown: the program was " +
				"built from a copy or a worktree, or with -buildvcs=false, and then Go does not record it; build it in a clone, or go install a " +
				"version " +
				"of the module\nGo go1.2\n"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, versionText(&tc.info)) })
	}
}

func TestVersionIsACommand(t *testing.T) {
	status, out, errOut := call("", "version")
	assert.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "\nGo "+runtime.Version()+"\n")
	status, _, _ = call("", "version", "1")
	assert.Equal(t, exitUsage, status)
}
