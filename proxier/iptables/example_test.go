package iptables_test

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"

	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// printer stands for the real tools: it prints each command and refuses restores. Use exec.New() for the real tools.
func printer() exec.Interface {
	run := func(name string, args ...string) exec.Cmd {
		cmd := &testingexec.FakeCmd{RunScript: []testingexec.FakeAction{func() ([]byte, []byte, error) {
			fmt.Println("$", name, strings.Join(args, " "))
			switch {
			case args[0] == "--version":
				return []byte("iptables v1.8.9 (legacy)\n"), nil, nil
			case args[4] == "-C":
				return nil, []byte("iptables: Bad rule (does a matching rule exist in that chain?).\n"), testingexec.FakeExitError{Status: 1}
			case name == "iptables-restore":
				return nil, []byte("iptables-restore: line 3 failed\n"), testingexec.FakeExitError{Status: 1}
			}
			return nil, nil, nil
		}}}
		return testingexec.InitFakeCmd(cmd, name, args...)
	}
	fake := &testingexec.FakeExec{}
	for range 5 {
		fake.CommandScript = append(fake.CommandScript, run)
	}
	return fake
}

func Example() {
	runner, err := iptables.New(printer(), iptables.ProtocolIPv4, iptables.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}

	if _, err := runner.EnsureChain(iptables.TableNAT, "KUBE-SERVICES"); err != nil {
		fmt.Println(err)
	}
	existed, err := runner.EnsureRule(iptables.Prepend, iptables.TableNAT, iptables.ChainOutput, "-j", "KUBE-SERVICES")
	fmt.Println("existed:", existed, "error:", err)

	rules := []byte("*nat\n:KUBE-SERVICES - [0:0]\n-A KUBE-NODEPORTS -j ACCEPT\nCOMMIT\n")
	err = runner.RestoreAll(rules, iptables.NoFlushTables, iptables.RestoreCounters)
	var refused *iptables.RestoreError
	if errors.As(err, &refused) {
		fmt.Printf("line %d of table %s is refused: %s\n", refused.Line, refused.Table, refused.Input)
	}

	// Output:
	// $ iptables --version
	// $ iptables -w 5 -W 100000 -N KUBE-SERVICES -t nat
	// $ iptables -w 5 -W 100000 -C OUTPUT -t nat -j KUBE-SERVICES
	// $ iptables -w 5 -W 100000 -I OUTPUT -t nat -j KUBE-SERVICES
	// existed: false error: <nil>
	// $ iptables-restore -w 5 -W 100000 --noflush --counters
	// line 3 of table nat is refused: -A KUBE-NODEPORTS -j ACCEPT
}
