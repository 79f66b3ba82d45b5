package snapshot

// NFEffect is what a chain of nftables can do to a packet.
type NFEffect string

// The effects of chains.
const (
	EffectPass      NFEffect = "pass" // nothing but to count, log and accept
	EffectDrop      NFEffect = "drop"
	EffectReject    NFEffect = "reject"
	EffectQueue     NFEffect = "queue"     // hand it to a program
	EffectTranslate NFEffect = "translate" // another address or port
	EffectChange    NFEffect = "change"    // its mark, its header, its connection's mark or zone, or who takes it
	EffectUnknown   NFEffect = "unknown"   // a rule has what is not known
)
