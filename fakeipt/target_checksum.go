package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetChecksum is -j CHECKSUM --checksum-fill: the packet goes on with its checksum written.
type TargetChecksum struct{}

// Name is "CHECKSUM".
func (*TargetChecksum) Name() string { return "CHECKSUM" }

func (*TargetChecksum) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(dst, " --checksum-fill"...)
}

func (*TargetChecksum) appendList(dst []byte, _ listStyle) []byte {
	return append(dst, " CHECKSUM fill"...)
}

func (*TargetChecksum) check(c *checkContext) syscall.Errno { return c.wantTable("mangle") }

var checksumExtension = &extension{
	name:      "CHECKSUM",
	options:   []optionSpec{{name: "checksum-fill", flag: true, mandatory: true}},
	newTarget: func() targetParser { return checksumParser{} },
}

type checksumParser struct{}

func (checksumParser) begin(netfilter.Family) {}

func (checksumParser) option(*optionCall) error { return nil }

func (checksumParser) finish(uint32) (Target, error) { return &TargetChecksum{}, nil }
