package libc

// serviceName is a service as Debian 12 lists it in /etc/services (netbase 6.4).
type serviceName struct {
	name    string
	port    uint16
	in      uint8
	aliases string // other names, with a blank between them
}

// The protocols that a service's name is for.
const (
	inTCP uint8 = 1 << iota
	inUDP
	inSCTP
	inDDP // of AppleTalk, whose services have no ports of IP

	inAny = inTCP | inUDP | inSCTP | inDDP
)

// serviceNames are the services in the order of the file, which decides where a name or a port is there more than once.
var serviceNames = [...]serviceName{
	{"tcpmux", 1, inTCP, ""}, {"echo", 7, inTCP | inUDP, ""}, {"discard", 9, inTCP | inUDP, "sink null"},
	{"systat", 11, inTCP, "users"}, {"daytime", 13, inTCP | inUDP, ""}, {"netstat", 15, inTCP, ""}, {"qotd", 17, inTCP, "quote"},
	{"chargen", 19, inTCP | inUDP, "ttytst source"}, {"ftp-data", 20, inTCP, ""}, {"ftp", 21, inTCP, ""},
	{"fsp", 21, inUDP, "fspd"}, {"ssh", 22, inTCP, ""}, {"telnet", 23, inTCP, ""}, {"smtp", 25, inTCP, "mail"},
	{"time", 37, inTCP | inUDP, "timserver"}, {"whois", 43, inTCP, "nicname"}, {"tacacs", 49, inTCP | inUDP, ""},
	{"domain", 53, inTCP | inUDP, ""}, {"bootps", 67, inUDP, ""}, {"bootpc", 68, inUDP, ""}, {"tftp", 69, inUDP, ""},
	{"gopher", 70, inTCP, ""}, {"finger", 79, inTCP, ""}, {"http", 80, inTCP, "www"},
	{"kerberos", 88, inTCP | inUDP, "kerberos5 krb5 kerberos-sec"}, {"iso-tsap", 102, inTCP, "tsap"},
	{"acr-nema", 104, inTCP, "dicom"}, {"pop3", 110, inTCP, "pop-3"}, {"sunrpc", 111, inTCP | inUDP, "portmapper"},
	{"auth", 113, inTCP, "authentication tap ident"}, {"nntp", 119, inTCP, "readnews untp"}, {"ntp", 123, inUDP, ""},
	{"epmap", 135, inTCP, "loc-srv"}, {"netbios-ns", 137, inUDP, ""}, {"netbios-dgm", 138, inUDP, ""},
	{"netbios-ssn", 139, inTCP, ""}, {"imap2", 143, inTCP, "imap"}, {"snmp", 161, inTCP | inUDP, ""},
	{"snmp-trap", 162, inTCP | inUDP, "snmptrap"}, {"cmip-man", 163, inTCP | inUDP, ""}, {"cmip-agent", 164, inTCP | inUDP, ""},
	{"mailq", 174, inTCP, ""}, {"xdmcp", 177, inUDP, ""}, {"bgp", 179, inTCP, ""}, {"smux", 199, inTCP, ""},
	{"qmtp", 209, inTCP, ""}, {"z3950", 210, inTCP, "wais"}, {"ipx", 213, inUDP, ""}, {"ptp-event", 319, inUDP, ""},
	{"ptp-general", 320, inUDP, ""}, {"pawserv", 345, inTCP, ""}, {"zserv", 346, inTCP, ""},
	{"rpc2portmap", 369, inTCP | inUDP, ""}, {"codaauth2", 370, inTCP | inUDP, ""}, {"clearcase", 371, inUDP, "Clearcase"},
	{"ldap", 389, inTCP | inUDP, ""}, {"svrloc", 427, inTCP | inUDP, ""}, {"https", 443, inTCP | inUDP, ""},
	{"snpp", 444, inTCP, ""}, {"microsoft-ds", 445, inTCP, ""}, {"kpasswd", 464, inTCP | inUDP, ""},
	{"submissions", 465, inTCP, "ssmtp smtps urd"}, {"saft", 487, inTCP, ""}, {"isakmp", 500, inUDP, ""},
	{"rtsp", 554, inTCP | inUDP, ""}, {"nqs", 607, inTCP, ""}, {"asf-rmcp", 623, inUDP, ""}, {"qmqp", 628, inTCP, ""},
	{"ipp", 631, inTCP, ""}, {"ldp", 646, inTCP | inUDP, ""}, {"exec", 512, inTCP, ""}, {"biff", 512, inUDP, "comsat"},
	{"login", 513, inTCP, ""}, {"who", 513, inUDP, "whod"}, {"shell", 514, inTCP, "cmd syslog"}, {"syslog", 514, inUDP, ""},
	{"printer", 515, inTCP, "spooler"}, {"talk", 517, inUDP, ""}, {"ntalk", 518, inUDP, ""}, {"route", 520, inUDP, "router routed"},
	{"gdomap", 538, inTCP | inUDP, ""}, {"uucp", 540, inTCP, "uucpd"}, {"klogin", 543, inTCP, ""}, {"kshell", 544, inTCP, "krcmd"},
	{"dhcpv6-client", 546, inUDP, ""}, {"dhcpv6-server", 547, inUDP, ""}, {"afpovertcp", 548, inTCP, ""},
	{"nntps", 563, inTCP, "snntp"}, {"submission", 587, inTCP, ""}, {"ldaps", 636, inTCP | inUDP, ""},
	{"tinc", 655, inTCP | inUDP, ""}, {"silc", 706, inTCP, ""}, {"kerberos-adm", 749, inTCP, ""},
	{"domain-s", 853, inTCP | inUDP, ""}, {"rsync", 873, inTCP, ""}, {"ftps-data", 989, inTCP, ""}, {"ftps", 990, inTCP, ""},
	{"telnets", 992, inTCP, ""}, {"imaps", 993, inTCP, ""}, {"pop3s", 995, inTCP, ""}, {"socks", 1080, inTCP, ""},
	{"proofd", 1093, inTCP, ""}, {"rootd", 1094, inTCP, ""}, {"openvpn", 1194, inTCP | inUDP, ""}, {"rmiregistry", 1099, inTCP, ""},
	{"lotusnote", 1352, inTCP, "lotusnotes"}, {"ms-sql-s", 1433, inTCP, ""}, {"ms-sql-m", 1434, inUDP, ""},
	{"ingreslock", 1524, inTCP, ""}, {"datametrics", 1645, inTCP | inUDP, "old-radius"},
	{"sa-msg-port", 1646, inTCP | inUDP, "old-radacct"}, {"kermit", 1649, inTCP, ""}, {"groupwise", 1677, inTCP, ""},
	{"l2f", 1701, inUDP, "l2tp"}, {"radius", 1812, inTCP | inUDP, ""}, {"radius-acct", 1813, inTCP | inUDP, "radacct"},
	{"cisco-sccp", 2000, inTCP, ""}, {"nfs", 2049, inTCP | inUDP, ""}, {"gnunet", 2086, inTCP | inUDP, ""},
	{"rtcm-sc104", 2101, inTCP | inUDP, ""}, {"gsigatekeeper", 2119, inTCP, ""}, {"gris", 2135, inTCP, ""},
	{"cvspserver", 2401, inTCP, ""}, {"venus", 2430, inTCP | inUDP, ""}, {"venus-se", 2431, inTCP | inUDP, ""},
	{"codasrv", 2432, inTCP | inUDP, ""}, {"codasrv-se", 2433, inTCP | inUDP, ""}, {"mon", 2583, inTCP | inUDP, ""},
	{"dict", 2628, inTCP, ""}, {"f5-globalsite", 2792, inTCP, ""}, {"gsiftp", 2811, inTCP, ""}, {"gpsd", 2947, inTCP, ""},
	{"gds-db", 3050, inTCP, "gds_db"}, {"icpv2", 3130, inUDP, "icp"}, {"isns", 3205, inTCP | inUDP, ""},
	{"iscsi-target", 3260, inTCP, ""}, {"mysql", 3306, inTCP, ""}, {"ms-wbt-server", 3389, inTCP, ""},
	{"nut", 3493, inTCP | inUDP, ""}, {"distcc", 3632, inTCP, ""}, {"daap", 3689, inTCP, ""}, {"svn", 3690, inTCP, "subversion"},
	{"suucp", 4031, inTCP, ""}, {"sysrqd", 4094, inTCP, ""}, {"sieve", 4190, inTCP, ""}, {"epmd", 4369, inTCP, ""},
	{"remctl", 4373, inTCP, ""}, {"f5-iquery", 4353, inTCP, ""}, {"ntske", 4460, inTCP, ""}, {"ipsec-nat-t", 4500, inUDP, ""},
	{"iax", 4569, inUDP, ""}, {"mtn", 4691, inTCP, ""}, {"radmin-port", 4899, inTCP, ""}, {"sip", 5060, inTCP | inUDP, ""},
	{"sip-tls", 5061, inTCP | inUDP, ""}, {"xmpp-client", 5222, inTCP, "jabber-client"},
	{"xmpp-server", 5269, inTCP, "jabber-server"}, {"cfengine", 5308, inTCP, ""}, {"mdns", 5353, inUDP, ""},
	{"postgresql", 5432, inTCP, "postgres"}, {"freeciv", 5556, inTCP, "rptp"}, {"amqps", 5671, inTCP, ""},
	{"amqp", 5672, inTCP | inSCTP, ""}, {"x11", 6000, inTCP, "x11-0"}, {"x11-1", 6001, inTCP, ""}, {"x11-2", 6002, inTCP, ""},
	{"x11-3", 6003, inTCP, ""}, {"x11-4", 6004, inTCP, ""}, {"x11-5", 6005, inTCP, ""}, {"x11-6", 6006, inTCP, ""},
	{"x11-7", 6007, inTCP, ""}, {"gnutella-svc", 6346, inTCP | inUDP, ""}, {"gnutella-rtr", 6347, inTCP | inUDP, ""},
	{"redis", 6379, inTCP, ""}, {"sge-qmaster", 6444, inTCP, "sge_qmaster"}, {"sge-execd", 6445, inTCP, "sge_execd"},
	{"mysql-proxy", 6446, inTCP, ""}, {"babel", 6696, inUDP, ""}, {"ircs-u", 6697, inTCP, ""}, {"bbs", 7000, inTCP, ""},
	{"afs3-fileserver", 7000, inUDP, ""}, {"afs3-callback", 7001, inUDP, ""}, {"afs3-prserver", 7002, inUDP, ""},
	{"afs3-vlserver", 7003, inUDP, ""}, {"afs3-kaserver", 7004, inUDP, ""}, {"afs3-volser", 7005, inUDP, ""},
	{"afs3-bos", 7007, inUDP, ""}, {"afs3-update", 7008, inUDP, ""}, {"afs3-rmtsys", 7009, inUDP, ""},
	{"font-service", 7100, inTCP, "xfs"}, {"http-alt", 8080, inTCP, "webcache"}, {"puppet", 8140, inTCP, ""},
	{"bacula-dir", 9101, inTCP, ""}, {"bacula-fd", 9102, inTCP, ""}, {"bacula-sd", 9103, inTCP, ""}, {"xmms2", 9667, inTCP, ""},
	{"nbd", 10809, inTCP, ""}, {"zabbix-agent", 10050, inTCP, ""}, {"zabbix-trapper", 10051, inTCP, ""},
	{"amanda", 10080, inTCP, ""}, {"dicom", 11112, inTCP, ""}, {"hkp", 11371, inTCP, ""}, {"db-lsp", 17500, inTCP, ""},
	{"dcap", 22125, inTCP, ""}, {"gsidcap", 22128, inTCP, ""}, {"wnn6", 22273, inTCP, ""}, {"rtmp", 1, inDDP, ""},
	{"nbp", 2, inDDP, ""}, {"echo", 4, inDDP, ""}, {"zip", 6, inDDP, ""}, {"kerberos4", 750, inUDP, "kerberos-iv kdc"},
	{"kerberos4", 750, inTCP, "kerberos-iv kdc"},
	{"kerberos-master", 751, inUDP, "kerberos_master"}, {"kerberos-master", 751, inTCP, ""},
	{"passwd-server", 752, inUDP, "passwd_server"}, {"krb-prop", 754, inTCP, "krb_prop krb5_prop hprop"},
	{"zephyr-srv", 2102, inUDP, ""}, {"zephyr-clt", 2103, inUDP, ""}, {"zephyr-hm", 2104, inUDP, ""}, {"iprop", 2121, inTCP, ""},
	{"supfilesrv", 871, inTCP, ""}, {"supfiledbg", 1127, inTCP, ""}, {"poppassd", 106, inTCP, ""},
	{"moira-db", 775, inTCP, "moira_db"}, {"moira-update", 777, inTCP, "moira_update"}, {"moira-ureg", 779, inUDP, "moira_ureg"},
	{"spamd", 783, inTCP, ""}, {"skkserv", 1178, inTCP, ""}, {"predict", 1210, inUDP, ""}, {"rmtcfg", 1236, inTCP, ""},
	{"xtel", 1313, inTCP, ""}, {"xtelw", 1314, inTCP, ""}, {"zebrasrv", 2600, inTCP, ""}, {"zebra", 2601, inTCP, ""},
	{"ripd", 2602, inTCP, ""}, {"ripngd", 2603, inTCP, ""}, {"ospfd", 2604, inTCP, ""}, {"bgpd", 2605, inTCP, ""},
	{"ospf6d", 2606, inTCP, ""}, {"ospfapi", 2607, inTCP, ""}, {"isisd", 2608, inTCP, ""}, {"fax", 4557, inTCP, ""},
	{"hylafax", 4559, inTCP, ""}, {"munin", 4949, inTCP, "lrrd"}, {"rplay", 5555, inUDP, ""}, {"nrpe", 5666, inTCP, ""},
	{"nsca", 5667, inTCP, ""}, {"canna", 5680, inTCP, ""}, {"syslog-tls", 6514, inTCP, ""},
	{"sane-port", 6566, inTCP, "sane saned"}, {"ircd", 6667, inTCP, ""}, {"zope-ftp", 8021, inTCP, ""}, {"tproxy", 8081, inTCP, ""},
	{"omniorb", 8088, inTCP, ""}, {"clc-build-daemon", 8990, inTCP, ""}, {"xinetd", 9098, inTCP, ""}, {"git", 9418, inTCP, ""},
	{"zope", 9673, inTCP, ""}, {"webmin", 10000, inTCP, ""}, {"kamanda", 10081, inTCP, ""}, {"amandaidx", 10082, inTCP, ""},
	{"amidxtape", 10083, inTCP, ""}, {"sgi-cmsd", 17001, inUDP, ""}, {"sgi-crsd", 17002, inUDP, ""}, {"sgi-gcd", 17003, inUDP, ""},
	{"sgi-cad", 17004, inTCP, ""}, {"binkp", 24554, inTCP, ""}, {"asp", 27374, inTCP | inUDP, ""}, {"csync2", 30865, inTCP, ""},
	{"dircproxy", 57000, inTCP, ""}, {"tfido", 60177, inTCP, ""}, {"fido", 60179, inTCP, ""},
}
