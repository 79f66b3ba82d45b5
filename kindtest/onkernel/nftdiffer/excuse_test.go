package nftdiffer

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

func TestExcuses(t *testing.T) {
	list, echo := &step{Args: []string{"list", "ruleset"}}, &step{Args: []string{"-e", "-f", "-"}}
	json := &step{Args: []string{"-j", "list", "ruleset"}}
	for _, c := range []struct {
		name         string
		step         *step
		theirs, ours string
		excused      bool
	}{
		{"flags with the same lowest bit", list, "tcp flags { syn, syn | ack }", "tcp flags { syn | ack, syn }", true},
		{"the same in a map", list, "tcp flags vmap { syn : drop, syn | ack : accept }", "tcp flags vmap { syn | ack : accept, syn : drop }",
			true},
		{
			"the same as JSON", list, `{"nftables": [{"set": ["syn", {"|": ["syn", "ack"]}]}]}`,
			`{"nftables": [{"set": [{"|": ["syn", "ack"]}, "syn"]}]}`, true,
		},
		{"other flags", list, "tcp flags { syn, syn | ack }", "tcp flags { syn, syn | fin }", false},
		{"single flags", list, "tcp flags { syn, ack }", "tcp flags { ack, syn }", false},
		{"single flags as JSON", list, `{"set": ["syn", "ack"]}`, `{"set": ["ack", "syn"]}`, false},
		{"a rule behind it", list, "tcp flags { syn, syn | ack } drop", "tcp flags { syn | ack, syn } accept", false},
		{"the flag of a table", json, `[{"table": {"flags": "t"}}, {"a": 1}]`, `[{"table": {"flags": "dormant"}}, {"a": 1}]`, true},
		{"no text", json, `[{"table": {"flags": ` + "\n", `[{"table": {"flags": "dormant"}}, {"a": 1}]`, true},
		{"the flag of a table and more", json, `[{"table": {"flags": "t"}}, {"a": 2}]`, `[{"table": {"flags": "dormant"}}, {"a": 1}]`, false},
		{"the flag of a set", json, `[{"set": {"flags": "t"}}]`, `[{"set": {"flags": "dynamic"}}]`, false},
		{"the flag of a table in text", list, `{"table": {"flags": "t"}}`, `{"table": {"flags": "dormant"}}`, false},
		{"a chain without a name", echo, "add chain ip t __chain9\n", "add rule ip t c jump {\n", true},
		{"such a chain in a listing", list, "add chain ip t __chain9\n", "add rule ip t c jump {\n", false},
		{"elements of IPv6 intervals", echo, "add element ip t s { ::1-::4,\n\t\t\t     ::5 }\n", "add element ip t s { ::1 }\n", true},
		{"a wildcard of the same set", echo, "add element ip t s { * }\n", "add element ip t s { ::1 }\nadd element ip t s { * }\n", true},
		{"an element of another set", echo, "add element ip t r { * }\n", "add element ip t s { ::1 }\n", false},
		{"elements of other intervals", echo, "", "add element ip t s { 1.1.1.1 }\n", false},
		{"such elements in a listing", list, "", "add element ip t s { ::1 }\n", false},
	} {
		got := excuse(c.step, toolrun.Run{Stdout: c.theirs}, toolrun.Run{Stdout: c.ours})
		assert.Equal(t, c.excused, got != "", c.name)
	}
	assert.Empty(t, excuse(list, toolrun.Run{Stdout: "{ syn, syn | ack }"}, toolrun.Run{Stdout: "{ syn | ack, syn }", Status: 1}),
		"another status")
}
