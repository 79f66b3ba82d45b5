package parse

import "strings"

// tokenNames are the names of the tokens in messages, in the order of their numbers.
var tokenNames = strings.Split(strings.ReplaceAll(`
end of file,error,invalid token,junk,newline,colon,semicolon,comma,.,==,!=,<,>,>=,<=,<<,>>,&,^,!,/,*,-,@,vmap,+,include,define,
redefine,undefine,fib,socket,transparent,wildcard,cgroupv2,tproxy,osf,synproxy,mss,wscale,typeof,hook,hooks,device,devices,table,
tables,chain,chains,rule,rules,sets,set,element,map,maps,flowtable,handle,ruleset,trace,inet,netdev,add,update,replace,create,insert,
delete,get,list,reset,flush,rename,describe,import,export,monitor,all,accept,drop,continue,jump,goto,return,to,constant,interval,
dynamic,auto-merge,timeout,gc-interval,elements,expires,policy,memory,performance,size,flow,offload,meter,meters,flowtables,number,
string,quoted string,string with a trailing asterisk,ll,nh,th,bridge,ether,saddr,daddr,type,vlan,id,cfi,dei,pcp,arp,htype,ptype,hlen,
plen,operation,ip,version,hdrlength,dscp,ecn,length,frag-off,ttl,protocol,checksum,ptr,value,lsrr,rr,ssrr,ra,icmp,code,seq,gateway,mtu,
igmp,mrt,options,ip6,priority,flowlabel,nexthdr,hoplimit,icmpv6,param-problem,max-delay,ah,reserved,spi,esp,comp,flags,cpi,port,udp,
sport,dport,udplite,csumcov,tcp,ackseq,doff,window,urgptr,option,echo,eol,mptcp,nop,sack,sack0,sack1,sack2,sack3,sack-permitted,
fastopen,md5sig,timestamp,count,left,right,tsval,tsecr,subtype,dccp,sctp,chunk,data,init,init-ack,heartbeat,heartbeat-ack,abort,
shutdown,shutdown-ack,error,cookie-echo,cookie-ack,ecne,cwr,shutdown-complete,asconf-ack,forward-tsn,asconf,tsn,stream,ssn,ppid,
init-tag,a-rwnd,num-outbound-streams,num-inbound-streams,initial-tsn,cum-tsn-ack,num-gap-ack-blocks,num-dup-tsns,lowest-tsn,seqno,
new-cum-tsn,vtag,rt,rt0,rt2,srh,seg-left,addr,last-entry,tag,sid,hbh,frag,reserved2,more-fragments,dst,mh,meta,mark,iif,iifname,
iiftype,oif,oifname,oiftype,skuid,skgid,nftrace,rtclassid,ibriport,obriport,ibrname,obrname,pkttype,cpu,iifgroup,oifgroup,cgroup,time,
classid,nexthop,ct,l3proto,proto-src,proto-dst,zone,direction,event,expectation,expiration,helper,label,state,status,original,reply,
counter,name,packets,bytes,avgpkt,counters,quotas,limits,synproxys,helpers,log,prefix,group,snaplen,queue-threshold,level,limit,rate,
burst,over,until,quota,used,secmark,secmarks,second,minute,hour,day,week,reject,with,icmpx,snat,dnat,masquerade,redirect,random,
fully-random,persistent,queue,num,bypass,fanout,dup,fwd,numgen,inc,mod,offset,jhash,symhash,seed,position,index,comment,xml,json,vm,
notrack,exists,missing,exthdr,ipsec,reqid,spnum,in,out,xt,'=','{','}','(',')','|','$','[',']'`, "\n", ""), ",")
