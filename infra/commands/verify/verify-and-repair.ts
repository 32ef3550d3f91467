import { Failure } from '../../../lib/contract/failure.ts';
import { VERIFIED_ATTRIBUTES } from '../../../lib/integrity/item-kinds.ts';
import { repairTable } from '../../../lib/integrity/repair-table.ts';
import { verifyTable } from '../../../lib/integrity/verify-table.ts';
import { NotGatehouseTable } from '../../../lib/table/not-gatehouse-table.ts';
import { openTable } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import type { TableConnection } from '../../local/aws/local-table.ts';
import { print, printError, reportProgress } from '../command-line.ts';
import { explainError } from '../explain-error.ts';
import { reportVerification } from './report-verification.ts';

interface Options {
  /** The name that the operator has given; undefined for the local table. */
  readonly name: string | undefined;
  readonly repair: boolean;
}

type Outcome = 'intact' | 'findings' | 'not-verified';

/**
 * Verifies a table and prints the findings; with `repair`, repairs it and verifies it again. Prints
 * errors, too.
 */
export async function verifyAndRepair(
  { tableName, client }: Pick<TableConnection, 'tableName' | 'client'>,
  { name, repair }: Options,
): Promise<Outcome> {
  const scanner = openTableScanner(VERIFIED_ATTRIBUTES, tableName, client);
  try {
    print(`Verifying ${tableName}`);
    let verification = await verifyTable(scanner, reportProgress('item', ' read'));
    if (repair && verification.findings.some(({ remedy }) => 'writes' in remedy)) {
      reportVerification(verification);
      await repairTable(openTable(tableName, client), verification.findings, (description) =>
        print(`Repair: ${description}`),
      );
      print('Verifying the repaired table');
      verification = await verifyTable(scanner, reportProgress('item', ' read'));
    }
    reportVerification(verification);
    const { findings, undecided } = verification;
    if (findings.length > 0) return 'findings';
    return undecided.length > 0 ? 'not-verified' : 'intact';
  } catch (error) {
    printError(sentenceOf(error));
    return 'not-verified';
  }

  function sentenceOf(error: unknown): string {
    if (error instanceof NotGatehouseTable) return `${tableName} is not a Gatehouse table.`;
    if (error instanceof Failure)
      return 'The table did not respond in time. The last repair may have taken effect: verify again.';
    return explainError(error, name);
  }
}
