import { Failure } from '../contract/failure.ts';
import type { ModuleReport } from '../integrations/integration.ts';

const FIELD = 'Gatehouse-Running';
/** An integer with parameters (RFC 9651, 3.3.1 and 3.1.2), of which only `failed` has a meaning. */
const ITEM = /^(\d{1,15})((?: *; *[a-z*][a-z\d_.*-]*(?:=[\w.*:/%+-]+)?)*)$/;
const FAILED = /; *failed(?:=([^; ]*))?(?= *(?:;|$))/;

/**
 * What a module runs, as the header of its poll states it: `16`, or `16;failed=17`. Undefined
 * without the header. Fails with invalid.
 */
export function parseRunning(header: string | undefined): ModuleReport | undefined {
  if (header === undefined) return undefined;
  const [, running, parameters = ''] = ITEM.exec(header.trim()) ?? [];
  const [parameter, failed] = FAILED.exec(parameters) ?? [];
  const isValid =
    running !== undefined && (parameter === undefined || /^\d{1,15}$/.test(failed ?? ''));
  if (!isValid) {
    const reason = 'an integer, such as 16, or 16;failed=17';
    throw new Failure('invalid', { fieldErrors: [{ field: FIELD, message: 'Pattern', reason }] });
  }
  return { running: Number(running), ...(failed !== undefined && { failed: Number(failed) }) };
}
