package ipt

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// tables are tools that save what they are told and keep what is restored.
type tables struct {
	iptables.Interface // the methods that must not be called
	saved              map[iptables.Table]string
	restored           map[iptables.Table]string
	saveError          map[iptables.Table]error
	restoreError       error
}

func (*tables) Protocol() iptables.Protocol { return iptables.ProtocolIPv4 }
func (*tables) HasRandomFully() bool        { return false }

func (f *tables) SaveInto(table iptables.Table, buffer *bytes.Buffer) error {
	buffer.WriteString(f.saved[table])
	return f.saveError[table]
}

func (f *tables) Restore(table iptables.Table, data []byte, flush iptables.FlushFlag, _ iptables.RestoreCountersFlag) error {
	if flush == iptables.FlushTables {
		return errors.New("the rules of others are flushed")
	}
	if f.restored == nil {
		f.restored = map[iptables.Table]string{}
	}
	f.restored[table] = string(data)
	return f.restoreError
}

func TestCleanup(t *testing.T) {
	tests := []struct {
		name  string
		table iptables.Table
		save  string
		want  string // what is restored, without the table and COMMIT
		err   string
	}{
		{"nothing is there", iptables.TableNAT, ":OUTPUT ACCEPT [0:0]\n-A OUTPUT -j ACCEPT\n", "", ""},
		{"chains that lead to each other", iptables.TableNAT,
			":OUTPUT ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n:KUBE-SVC-A - [0:0]\n:KUBE-SEP-A - [0:0]\n" +
				"-A OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n-A KUBE-SERVICES -d 172.30.0.41/32 -j KUBE-SVC-A\n" +
				"-A KUBE-SVC-A -j KUBE-SEP-A\n",
			":KUBE-SERVICES - [0:0]\n:KUBE-SVC-A - [0:0]\n:KUBE-SEP-A - [0:0]\n" +
				"-D OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n-X KUBE-SERVICES\n-X KUBE-SVC-A\n-X KUBE-SEP-A\n", ""},
		{"every kind of chain of table nat", iptables.TableNAT,
			":KUBE-SERVICES - [0:0]\n:KUBE-NODEPORTS - [0:0]\n:KUBE-POSTROUTING - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n:KUBE-PROXY-CANARY - [0:0]\n" +
				":KUBE-SVC-A - [0:0]\n:KUBE-SVL-A - [0:0]\n:KUBE-EXT-A - [0:0]\n:KUBE-FW-A - [0:0]\n:KUBE-SEP-A - [0:0]\n",
			":KUBE-SERVICES - [0:0]\n:KUBE-NODEPORTS - [0:0]\n:KUBE-POSTROUTING - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n:KUBE-PROXY-CANARY - [0:0]\n" +
				":KUBE-SVC-A - [0:0]\n:KUBE-SVL-A - [0:0]\n:KUBE-EXT-A - [0:0]\n:KUBE-FW-A - [0:0]\n:KUBE-SEP-A - [0:0]\n" +
				"-X KUBE-SERVICES\n-X KUBE-NODEPORTS\n-X KUBE-POSTROUTING\n-X KUBE-MARK-MASQ\n-X KUBE-PROXY-CANARY\n-X KUBE-SVC-A\n-X KUBE-SVL-A\n" +
				"-X KUBE-EXT-A\n-X KUBE-FW-A\n-X KUBE-SEP-A\n", ""},
		{"every chain of table filter", iptables.TableFilter,
			":KUBE-SERVICES - [0:0]\n:KUBE-EXTERNAL-SERVICES - [0:0]\n:KUBE-FORWARD - [0:0]\n:KUBE-NODEPORTS - [0:0]\n" +
				":KUBE-PROXY-FIREWALL - [0:0]\n:KUBE-PROXY-CANARY - [0:0]\n",
			":KUBE-SERVICES - [0:0]\n:KUBE-EXTERNAL-SERVICES - [0:0]\n:KUBE-FORWARD - [0:0]\n:KUBE-NODEPORTS - [0:0]\n" +
				":KUBE-PROXY-FIREWALL - [0:0]\n:KUBE-PROXY-CANARY - [0:0]\n" +
				"-X KUBE-SERVICES\n-X KUBE-EXTERNAL-SERVICES\n-X KUBE-FORWARD\n-X KUBE-NODEPORTS\n-X KUBE-PROXY-FIREWALL\n-X KUBE-PROXY-CANARY\n", ""},
		{"the canary of table mangle", iptables.TableMangle,
			":KUBE-PROXY-CANARY - [0:0]\n:KUBE-KUBELET-CANARY - [0:0]\n", ":KUBE-PROXY-CANARY - [0:0]\n-X KUBE-PROXY-CANARY\n", ""},
		{"the kubelet's and others' chains stay", iptables.TableFilter,
			":INPUT ACCEPT [0:0]\n:KUBE-FIREWALL - [0:0]\n:KUBE-KUBELET-CANARY - [0:0]\n:KUBE-MARK-DROP - [0:0]\n:KUBE-SVC-OF-OTHERS - [0:0]\n" +
				":cali-INPUT - [0:0]\n-A INPUT -j KUBE-FIREWALL\n-A INPUT -j cali-INPUT\n", "", ""},
		{"a hook that a version before 1.20 made, and one made twice", iptables.TableFilter,
			":INPUT ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n" +
				"-A INPUT -m conntrack --ctstate NEW -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n" +
				"-A INPUT -g KUBE-SERVICES\n-A INPUT -g KUBE-SERVICES\n",
			":KUBE-SERVICES - [0:0]\n-D INPUT -m conntrack --ctstate NEW -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n" +
				"-D INPUT -g KUBE-SERVICES\n-D INPUT -g KUBE-SERVICES\n-X KUBE-SERVICES\n", ""},
		{"a chain that a chain of others leads to", iptables.TableNAT,
			":OUTPUT ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n:cali-nat - [0:0]\n-A OUTPUT -j KUBE-SERVICES\n" +
				"-A KUBE-SERVICES -j KUBE-MARK-MASQ\n-A cali-nat -j KUBE-MARK-MASQ\n",
			":KUBE-SERVICES - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n-D OUTPUT -j KUBE-SERVICES\n-X KUBE-SERVICES\n",
			`delete these first: \"-A cali-nat -j KUBE-MARK-MASQ\"`},
		{"a comment that looks like a jump", iptables.TableNAT,
			":OUTPUT ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n-A OUTPUT -m comment --comment \"not -j KUBE-SERVICES\"\n",
			":KUBE-SERVICES - [0:0]\n-X KUBE-SERVICES\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tools := &tables{saved: map[iptables.Table]string{test.table: "*" + string(test.table) + "\n" + test.save + "COMMIT\n"}}
			logger, logged := logs()
			assert.Equal(t, test.err != "", New(Config{Tools: tools, Logger: logger}).Cleanup())
			assert.Contains(t, *logged, test.err)
			if test.want == "" {
				assert.Empty(t, tools.restored)
				return
			}
			assert.Equal(t, map[iptables.Table]string{test.table: "*" + string(test.table) + "\n" + test.want + "COMMIT\n"}, tools.restored)
		})
	}
}

func logs() (klog.Logger, *string) {
	var text string
	return funcr.New(func(_, args string) { text += args + "\n" }, funcr.Options{}), &text
}

// A table that cannot be saved does not keep the others.
func TestCleanupErrors(t *testing.T) {
	tools := &tables{
		saved:     map[iptables.Table]string{iptables.TableFilter: "*filter\n:KUBE-FORWARD - [0:0]\nCOMMIT\n"},
		saveError: map[iptables.Table]error{iptables.TableNAT: errors.New("fault of saving")},
	}
	logger, logged := logs()
	assert.True(t, New(Config{Tools: tools, Logger: logger}).Cleanup())
	assert.Contains(t, *logged, "fault of saving")
	assert.Contains(t, *logged, `"table"="nat"`)
	assert.NotContains(t, *logged, `"table"="filter"`)
	assert.Contains(t, tools.restored[iptables.TableFilter], "-X KUBE-FORWARD\n")

	tools.saveError, tools.restoreError = nil, errors.New("fault of restoring")
	logger, logged = logs()
	assert.True(t, New(Config{Tools: tools, Logger: logger}).Cleanup())
	assert.Contains(t, *logged, "fault of restoring")
}
