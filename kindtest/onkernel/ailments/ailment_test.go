package ailments

import (
	"fmt"

	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// Ailment is one thing that is wrong, and what it does to connections.
type Ailment struct {
	Name string
	Options
	// Objects changes what the API server has before kube-proxy reads it.
	Objects func(Objects)
	// Idle are the nodes on which kube-proxy has never run.
	Idle []string
	// Misled changes the configuration of node1's kube-proxy alone.
	Misled func(*kubeproxyconfig.KubeProxyConfiguration)
	// Before are command lines of things that are as they should be (Ward.Run), before any connection is made.
	Before []string
	// Fault are the command lines that break something.
	Fault []string
	// Later changes what the API server has, with no kube-proxy to hear of it.
	Later func(Objects)
	// Tries are the connections. The last one is that of which trace and why are asked.
	Tries []Try
	// Cause is what doctor, trace and why must name first.
	Cause cause.Code
	// Unpromised: the objects promise no more than what happens, so that doctor must find nothing wrong.
	Unpromised bool
	// Reached: new connections reach a server for all that, so that why must answer yes; so must trace, unless its packet is of the
	// connection that suffers.
	Reached bool
	// Unseen: no snapshot of a node shows it, so that nobody can name it.
	Unseen bool
	// Arrives is the device of the node that is called by which the packet of the asked connection comes: trace is asked of that node alone.
	// Doctor and why take the client's address for the node's and cannot name it.
	Arrives string
	// Undecided: the packet meets a rule that nobody knows. Doctor names that; trace and why say that they do not know.
	Undecided bool
	// Assumes and Tells are what doctor's text must have: Assumes that of trace and why as well.
	Assumes, Tells string
	// Unnamed says why no command names it yet, though a snapshot shows it. Once one does, the test asks to take this away.
	Unnamed string
}

// verdicts are the causes that each command names first.
type verdicts struct{ doctor, trace, why cause.Code }

func (v verdicts) String() string {
	return fmt.Sprintf("doctor %s, trace %s, why %s", said(v.doctor), said(v.trace), said(v.why))
}

// want is what they must be.
func (a *Ailment) want() verdicts {
	v := verdicts{a.Cause, a.Cause, a.Cause}
	if a.Unpromised || a.Unseen || a.Unnamed != "" || a.Arrives != "" {
		v.doctor = ""
	}
	if a.Reached || a.Unseen || a.Unnamed != "" || a.Arrives != "" {
		v.why = ""
	}
	if a.Undecided {
		v.trace, v.why = "", ""
	}
	if a.Reached && a.asked().SourcePort == 0 || a.Unseen || a.Unnamed != "" {
		v.trace = ""
	}
	return v
}

// asked is the connection of which trace and why are asked.
func (a *Ailment) asked() *Try { return &a.Tries[len(a.Tries)-1] }

// Result is what an ailment did, and what was said of it.
type Result struct {
	// Kernel is what became of the last connection.
	Kernel answer
	// Named are the causes that each command named first; nothing if it named none.
	Named verdicts
	// Wrong is what the kernel did otherwise than expected.
	Wrong []string
	// Repaired is what the remedy does that why names.
	Repaired repaired
	// Unsaid are the commands whose text lacks what it must have.
	Unsaid []string
	// Report is what each said.
	Report string
}
