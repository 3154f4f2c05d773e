import type { SshdDirective } from './directives.ts';
import { advice, type SshdFinding } from './sshd-finding.ts';

/**
 * The keywords of OpenSSH 10.5 and of the patches of Debian and Red Hat: what the rules judge, and what changes only how
 * clients prove who they are, algorithms, limits, logs and texts.
 */
const knownKeywords = new Set(
  `
  acceptenv addressfamily afstokenpassing allowagentforwarding allowgroups allowstreamlocalforwarding allowtcpforwarding
  allowusers authenticationmethods authorizedkeyscommand authorizedkeyscommanduser authorizedkeysfile
  authorizedkeysfile2 authorizedprincipalscommand authorizedprincipalscommanduser authorizedprincipalsfile banner
  casignaturealgorithms challengeresponseauthentication channeltimeout checkmail chrootdirectory ciphers
  clientalivecountmax clientaliveinterval compression debianbanner denygroups denyusers disableforwarding
  dsaauthentication exposeauthinfo fingerprinthash forcecommand gatewayports gssapiauthentication
  gssapicleanupcredentials gssapidelegatecredentials gssapienablek5users gssapikexalgorithms gssapikeyexchange
  gssapistorecredentialsonrekey gssapistrictacceptorcheck hostbasedacceptedalgorithms hostbasedacceptedkeytypes
  hostbasedauthentication hostbasedusesnamefrompacketonly hostcertificate hostdsakey hostkey hostkeyagent
  hostkeyalgorithms ignorerhosts ignoreuserknownhosts include ipqos kbdinteractiveauthentication keepalive
  kerberosauthentication kerberosgetafstoken kerberosorlocalpasswd kerberostgtpassing kerberosticketcleanup
  kerberosuniqueccache kerberosusekuserok kexalgorithms keyregenerationinterval listenaddress logingracetime loglevel
  logverbose macs maxauthtries maxsessions maxstartups modulifile pamservicename passwordauthentication
  permitemptypasswords permitlisten permitopen permitrootlogin permittty permittunnel permituserenvironment permituserrc
  persourcemaxstartups persourcenetblocksize persourcepenalties persourcepenaltyexemptlist pidfile port printlastlog
  printmotd protocol pubkeyacceptedalgorithms pubkeyacceptedkeytypes pubkeyauthentication pubkeyauthoptions rdomain
  refuseconnection rekeylimit requiredrsasize reversemappingcheck revokedkeys rhostsauthentication
  rhostsrsaauthentication rsaauthentication securitykeyprovider serverkeybits setenv showpatchlevel skeyauthentication
  sshdauthpath sshdsessionpath streamlocalbindmask streamlocalbindunlink strictmodes subsystem syslogfacility
  tcpkeepalive trustedusercakeys unusedconnectiontimeout usedns uselogin usepam useprivilegeseparation
  verifyreversemapping versionaddendum x11displayoffset x11forwarding x11maxdisplays x11uselocalhost xauthlocation
  `
    .trim()
    .split(/\s+/),
);

/** Names the options that no rule knows. */
export function keywordFindings(directives: readonly SshdDirective[]): SshdFinding[] {
  return directives
    .filter(({ keyword }) => !knownKeywords.has(keyword))
    .map(({ keyword, args, file, line }) => ({
      ...advice(
        'option-not-judged',
        `the linter does not know ${keyword} ${args.join(' ')}: what it opens is not judged here`,
        `remove the line, or read in sshd_config(5) what it lets users do`,
      ),
      place: `${file}:${line}`,
    }));
}
