package forall

import (
	"cmp"

	"github.com/chainwalk/chainwalk/packetsim"
)

// Back is what a host does with the reply to a packet, as packetsim.Back says it of one: whoever got the packet is taken to answer.
type Back struct {
	// Verdict is what the host does with it; empty: nothing, as far as is known.
	Verdict    packetsim.Verdict `json:"verdict,omitempty"`
	RejectWith string            `json:"rejectWith,omitempty"`
	Out        string            `json:"out,omitempty"` // the device by which it leaves; empty: it is for the host
	// Heard says that it goes to the sender of the packet, from the address that this one called.
	Heard bool `json:"heard,omitempty"`
	// Elsewhere says that it does not come by the host: who answers has another way to the sender.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Unmodelled says why it is not known what becomes of it; empty: it is, and otherwise nothing else of it is.
	Unmodelled string `json:"unmodelled,omitempty"`
}

// String is what becomes of the reply in a few words.
func (b Back) String() string {
	switch {
	case b == Back{}:
		return "none"
	case b.Unmodelled != "":
		return "not known: " + b.Unmodelled
	case b.Elsewhere:
		return "does not come by this host"
	case b.RejectWith != "":
		return "reject with " + b.RejectWith
	case b.Verdict != packetsim.Accept:
		return string(b.Verdict)
	}
	text := "accept"
	if b.Out != "" {
		text += " out of " + b.Out
	}
	if !b.Heard {
		text += ", with another address than the one that was called"
	}
	return text
}

// kind is what replies have in common that leave by different devices.
func (b Back) kind() string {
	b.Out = ""
	return b.String()
}

func compareBacks(a, b Back) int {
	heard := func(b Back) int {
		switch {
		case b.Heard:
			return 2
		case b.Elsewhere:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.RejectWith, b.RejectWith), cmp.Compare(a.Out, b.Out),
		cmp.Compare(heard(a), heard(b)), cmp.Compare(a.Unmodelled, b.Unmodelled))
}

// toElsewhere is where a reply goes that does not come by the host, and unheard one that has another address than the one that was called.
const (
	toElsewhere packetsim.Destination = "elsewhere"
	unheard     packetsim.Destination = "unheard"
)

// replyFate is the fate of a reply that gets somewhere.
func replyFate(st *state, out string) Fate {
	f := Fate{Verdict: packetsim.Accept, To: packetsim.ToForward, Out: out}
	if st.back != 0 || st.moved != unmoved && !st.home {
		f.To = unheard
	}
	return f
}

// backOf is what becomes of a reply, by its fate.
func backOf(f Fate) Back {
	switch {
	case f.Unmodelled != "":
		return Back{Unmodelled: f.Unmodelled}
	case f.To == toElsewhere:
		return Back{Elsewhere: true}
	}
	return Back{Verdict: f.Verdict, RejectWith: f.RejectWith, Out: f.Out, Heard: f.Verdict == packetsim.Accept && f.To != unheard}
}

// walkedBack is what a walk says of the reply. It is false if the walk does not know.
func walkedBack(b *packetsim.Back) (Back, bool) {
	switch {
	case b == nil:
		return Back{}, true
	case b.Elsewhere:
		return Back{Elsewhere: true}, true
	case b.Outcome == nil:
		return Back{}, false
	}
	return Back{Verdict: b.Outcome.Verdict, RejectWith: b.Outcome.RejectWith, Out: b.Outcome.Out, Heard: b.Heard}, true
}
