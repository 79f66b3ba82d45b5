package fakeipt_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

func ExampleKernel_Run() {
	k := fakeipt.New(fakeipt.Options{})
	rules := "*filter\n:WEB - [0:0]\n-A WEB -p tcp --dport 80 -j ACCEPT\nCOMMIT\n"
	status := k.Run([]string{"iptables-restore", "--noflush"}, strings.NewReader(rules), os.Stdout, os.Stderr)
	fmt.Println("status", status)
	k.Run([]string{"iptables", "-S", "WEB"}, nil, os.Stdout, os.Stderr)
	// Output:
	// status 0
	// -N WEB
	// -A WEB -p tcp -m tcp --dport 80 -j ACCEPT
}

func ExampleKernel_Exec() {
	k := fakeipt.New(fakeipt.Options{Dialect: netfilter.NFT})
	out, err := k.Exec().Command("iptables", "--version").CombinedOutput()
	fmt.Print(string(out), err, "\n")
	// Output:
	// iptables v1.8.9 (nf_tables)
	// <nil>
}

func ExampleLoadSave() {
	text := "*filter\n:INPUT ACCEPT [3:180]\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n"
	k, err := fakeipt.LoadSave(netfilter.IPv4, netfilter.Legacy, "node.txt", strings.NewReader(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	input := k.Ruleset(netfilter.IPv4).Table("filter").Chain("INPUT")
	fmt.Println(input.Counters.Packets(), input.Rules[0].Text("INPUT", netfilter.IPv4, netfilter.Legacy))
	_, err = fakeipt.LoadSave(netfilter.IPv4, netfilter.Legacy, "node.txt", strings.NewReader("*filter\n-A INPUT --colour red\nCOMMIT\n"))
	fmt.Println(err)
	// Output:
	// 3 -A INPUT -i lo -j ACCEPT
	// node.txt:2:10: unknown option "--colour" (at "--colour")
}
