package cause

import "github.com/chainwalk/chainwalk/packetsim"

// OfDoubt is what was not walked, or not known, as the cause of an answer that is not sure.
func OfDoubt(d packetsim.Doubt) Cause {
	code := Unread
	switch d.Kind {
	case packetsim.DoubtNFTables:
		code = NotWalked
	case packetsim.DoubtExtension:
		code = UnknownRule
	case packetsim.DoubtDown:
		code = DeviceDown
	case packetsim.DoubtProxy:
		code = OtherProxy
	}
	return Cause{Code: code, What: d.Unless, Says: "This is not known: " + d.Unless + ".", Remedy: d.See}
}
