package target

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Checksum is -j CHECKSUM --checksum-fill: the packet goes on with its checksum written.
type Checksum struct{}

// Name is "CHECKSUM".
func (*Checksum) Name() string { return "CHECKSUM" }

func (*Checksum) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(dst, " --checksum-fill"...)
}

func (*Checksum) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(dst, " CHECKSUM fill"...)
}

func (*Checksum) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("mangle") }

var checksumExtension = &xtables.Extension{
	Name:      "CHECKSUM",
	Options:   []xtables.Option{{Name: "checksum-fill", Flag: true, Mandatory: true}},
	NewTarget: func() xtables.TargetParser { return checksumParser{} },
}

type checksumParser struct{}

func (checksumParser) Begin(netfilter.Family) {}

func (checksumParser) Option(*xtables.OptionCall) error { return nil }

func (checksumParser) Finish(uint32) (xtables.Target, error) { return &Checksum{}, nil }
