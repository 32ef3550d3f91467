/*
 * Every key of the table. A kind is a collection in the order of its ids, so every read and every list is a strongly
 * consistent read by primary key, and there is no index.
 *
 *   item                     pk                            sk
 *   ---------------------    --------------------------    --------------------------------------------------
 *   user                     USER                          id, 16 digits
 *   login guard              LOGIN#<login>                 GUARD
 *   e-mail guard             EMAIL#<e-mail key>            GUARD
 *   administrators           ADMINS                        ROSTER
 *   integration              INTEGRATION                   id, 16 digits
 *   parameter                CONF                          id, 16 digits: integration id * 1,000,000 + its own number
 *   id sequence of a kind    SEQUENCE                      <kind>
 *   total of a kind          TOTAL                         <kind>
 *   public signing key       JWKS                          <kid>
 *   oldest valid token       JWKS                          NOT-BEFORE: beside the keys, so that one query reads both
 *   password reset (TTL)     RESET#<hash of key>           RESET
 *   read budget of a user     READS#<user id, 16 digits>    BUDGET
 *     (TTL)
 *   a change that others      PRECEDENCE#<user id>          PRECEDENCE: changes by this user wait for it
 *     wait for (TTL)
 *   mails to an account      MAILS#<user id, 16 digits>    <occasion>
 *     (TTL)
 *   guesses at a login,      ATTEMPTS#<HMAC of login>      NETWORK#<HMAC of network and login>: from one that is known,
 *     or of a source (TTL)                                 ELSEWHERE: from all others together
 *                            ATTEMPTS#<HMAC of address>    SOURCE
 *   audit entry (TTL)        AUDIT#<yyyy-mm>               time (ISO 8601, UTC), #, id
 *   audit entry, permanent   AUDIT#PERMANENT               time (ISO 8601, UTC), #, id
 */

/** The collections. */
export type Kind = 'USER' | 'INTEGRATION' | 'CONF';

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** As many digits as the largest safe integer has, so that the order of the text is the order of the numbers. */
export const idText = (id: number): string => String(id).padStart(16, '0');

export const entityKey = (kind: Kind, id: number): Key => ({ pk: kind, sk: idText(id) });
export const loginGuardKey = (login: string): Key => ({ pk: `LOGIN#${login}`, sk: 'GUARD' });
export const emailGuardKey = (emailKey: string): Key => ({ pk: `EMAIL#${emailKey}`, sk: 'GUARD' });
export const rosterKey: Key = { pk: 'ADMINS', sk: 'ROSTER' };
export const sequenceKey = (kind: Kind): Key => ({ pk: 'SEQUENCE', sk: kind });
export const totalKey = (kind: Kind): Key => ({ pk: 'TOTAL', sk: kind });
export const resetKey = (hash: string): Key => ({ pk: `RESET#${hash}`, sk: 'RESET' });
export const readBudgetKey = (userId: number): Key => ({ pk: `READS#${idText(userId)}`, sk: 'BUDGET' });
export const precedenceKey = (userId: number): Key => ({ pk: `PRECEDENCE#${idText(userId)}`, sk: 'PRECEDENCE' });
export const mailCountKey = (userId: number, occasion: string): Key => ({
  pk: `MAILS#${idText(userId)}`,
  sk: occasion,
});
export const auditPartition = (month: string): string => `AUDIT#${month}`;
export const auditKey = (time: string, id: string): Key => ({
  pk: auditPartition(time.slice(0, 7)),
  sk: `${time}#${id}`,
});
/** Entries that never expire have a partition of their own: to find them in the months, every month ever would be read. */
export const PERMANENT_AUDIT_PARTITION = 'AUDIT#PERMANENT';
export const permanentAuditKey = (time: string, id: string): Key => ({
  pk: PERMANENT_AUDIT_PARTITION,
  sk: `${time}#${id}`,
});
export const networkAttemptsKey = (login: string, network: string): Key => ({
  pk: `ATTEMPTS#${login}`,
  sk: `NETWORK#${network}`,
});
export const elsewhereAttemptsKey = (login: string): Key => ({ pk: `ATTEMPTS#${login}`, sk: 'ELSEWHERE' });
export const sourceAttemptsKey = (address: string): Key => ({ pk: `ATTEMPTS#${address}`, sk: 'SOURCE' });
export const signingKeyKey = (kid: string): Key => ({ pk: 'JWKS', sk: kid });
export const notBeforeKey: Key = { pk: 'JWKS', sk: 'NOT-BEFORE' };

/** An integration's parameters are one range of ids: they read off their owner, and lie side by side. */
export const PARAMETERS_PER_INTEGRATION_EVER = 1_000_000;
export const parameterId = (integrationId: number, number: number): number =>
  integrationId * PARAMETERS_PER_INTEGRATION_EVER + number;
/** Whether an integration can have this id and parameters: their ids must be safe integers. */
export const canOwnParameters = (integrationId: number): boolean =>
  integrationId > 0 && Number.isSafeInteger(parameterId(integrationId + 1, 0));

/** Where an integration's parameters lie. */
export const parametersRange = (integrationId: number) => ({
  from: idText(parameterId(integrationId, 0)),
  to: idText(parameterId(integrationId, PARAMETERS_PER_INTEGRATION_EVER - 1)),
});
export const integrationIdOf = (parameterId: number): number =>
  Math.floor(parameterId / PARAMETERS_PER_INTEGRATION_EVER);
