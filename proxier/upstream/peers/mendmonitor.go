package peers

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	utiliptables "k8s.io/kubernetes/pkg/util/iptables"
	"k8s.io/utils/exec"
)

// gone says whether the error of who saw no canary means that there is none.
func (m *monitor) gone(err error) bool {
	var exit exec.ExitError
	return !isResourceError(err) && !(m.mends.has(LockIsNoFlush) && errors.As(err, &exit) && exit.ExitStatus() == 4)
}

// otherFlushed says whether a canary of another table is gone than of that which kube-proxy looks at.
func (m *monitor) otherFlushed() bool {
	return m.mends.has(AllCanaries) && slices.ContainsFunc(canaryTables[1:], func(table utiliptables.Table) bool {
		there, err := m.look.ChainExists(table, canary)
		return !there && m.gone(err)
	})
}

// emptied says whether a table that had rules of kube-proxy's when it was looked at last has none any more, though its chains are there.
func (m *monitor) emptied() bool {
	return m.mends.has(EmptiedChains) && slices.ContainsFunc(m.ruled, func(table utiliptables.Table) bool { return !m.hasRules(table) })
}

// learn notes which tables have rules of kube-proxy's now.
func (m *monitor) learn() {
	if !m.mends.has(EmptiedChains) {
		return
	}
	m.ruled = nil
	for _, table := range canaryTables {
		if m.hasRules(table) {
			m.ruled = append(m.ruled, table)
		}
	}
}

// hasRules says whether a table has rules that lead to chains of kube-proxy's. One that cannot be seen is taken to have them.
func (m *monitor) hasRules(table utiliptables.Table) bool {
	var save bytes.Buffer
	return m.look.SaveInto(table, &save) != nil || strings.Contains(save.String(), " -j KUBE-")
}
