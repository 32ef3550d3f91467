import type { Verification } from '../../../lib/integrity/verify-table.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { print } from '../command-line.ts';

/** Prints the findings of a verification, each with its remedy, and the number of items. */
export function reportVerification(verification: Verification): void {
  const { items, users, integrations, parameters, findings, undecided } = verification;
  for (const { kind, message, remedy } of findings) {
    print(`${kind}: ${message}`);
    print(
      'writes' in remedy
        ? `  --repair ${remedy.description}`
        : `  cannot be repaired: ${remedy.advice}`,
    );
  }
  for (const sentence of undecided)
    print(`Undecided: ${sentence}. Verify again at a quieter time.`);
  print(
    `${counted(items, 'item')} (users: ${users}, integrations: ${integrations}, parameters: ` +
      `${parameters}): ` +
      (findings.length === 0 ? 'no findings' : counted(findings.length, 'finding')),
  );
}
