package fakeipt

import (
	"sync"

	"github.com/chainwalk/chainwalk/internal/record"
)

// stateMatches are the types of matches, and stateTargets those of targets, that the state of the tools can have: all that there are.
var stateMatches = []any{
	&MatchAddrtype{}, &MatchAH{}, &MatchBPF{}, &MatchCgroup{}, &MatchCluster{}, &MatchComment{}, &MatchConnbytes{}, &MatchConnlabel{},
	&MatchConnlimit{}, &MatchConnmark{}, &MatchConntrack{}, &MatchCPU{}, &MatchDCCP{}, &MatchDevgroup{}, &MatchDSCP{}, &MatchECN{},
	&MatchESP{}, &MatchEUI64{}, &MatchFrag{}, &MatchHashlimit{}, &MatchHelper{}, &MatchICMP{}, &MatchIPComp{}, &MatchIPRange{},
	&MatchIPv6Header{}, &MatchIPv6Opts{}, &MatchLength{}, &MatchLimit{}, &MatchMAC{}, &MatchMark{}, &MatchMH{}, &MatchMultiport{},
	&MatchNFAcct{}, &MatchOSF{}, &MatchOwner{}, &MatchPhysdev{}, &MatchPktType{}, &MatchPolicy{}, &MatchQuota{}, &MatchRateest{},
	&MatchRealm{}, &MatchRecent{}, &MatchRPFilter{}, &MatchRT{}, &MatchSCTP{}, &MatchSet{}, &MatchSocket{}, &MatchSRH{}, &MatchState{},
	&MatchStatistic{}, &MatchString{}, &MatchTCP{}, &MatchTCPMSS{}, &MatchTime{}, &MatchTOS{}, &MatchTTL{}, &MatchU32{}, &MatchUDP{},
	&MatchOpaque{},
}

var stateTargets = []any{
	&TargetOpaque{}, &TargetAudit{}, &TargetChecksum{}, &TargetClassify{}, &TargetConnmark{}, &TargetConnsecmark{}, &TargetCT{},
	&TargetDNAT{}, &TargetDSCP{}, &TargetECN{}, &TargetHMARK{}, &TargetIdletimer{}, &Jump{}, &TargetLog{}, &TargetMark{},
	&TargetMasquerade{}, &TargetNetmap{}, &TargetNFLOG{}, &TargetNFQUEUE{}, &TargetNPT{}, &TargetQueue{}, &TargetRateest{},
	&TargetTrace{}, &TargetNotrack{}, &TargetRedirect{}, &TargetReject{}, &TargetSecmark{}, &TargetSet{}, &TargetSNAT{},
	&TargetSynproxy{}, &TargetTCPMSS{}, &TargetTCPOptStrip{}, &TargetTEE{}, &TargetTOS{}, &TargetTPROXY{}, &TargetTTL{}, &Verdict{},
}

// stateTypes are all types of the state.
var stateTypes = sync.OnceValue(func() *record.Types {
	values := []any{&tableState{}, &chainRules{}, &objectState{}}
	values = append(append(values, stateMatches...), stateTargets...)
	return record.NewTypes([]record.Interface{record.InterfaceOf[Match](), record.InterfaceOf[Target]()}, values...)
})
