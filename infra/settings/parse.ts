import * as v from 'valibot';

/** What a file consists of. */
type Noun = 'setting' | 'text';

/** The content of a file. Throws a single error that lists all violations of the schema. */
export function parse<S extends v.GenericSchema>(
  noun: Noun,
  file: string,
  schema: S,
  content: unknown,
): v.InferOutput<S> {
  const { success, output, issues } = v.safeParse(schema, content, { abortPipeEarly: true });
  if (success) return output;
  throw invalid(
    noun,
    file,
    issues.map((issue) => violationOf(noun, issue)),
  );
}

export const invalid = (noun: Noun, file: string, violations: readonly string[]) =>
  new Error(`The ${noun}s in ${file} are invalid. ${violations.join('; ')}.`);

function violationOf(noun: Noun, issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  if (issue.expected === 'never') return `${path}: unknown ${noun}`;
  if (issue.received === 'undefined') return `${path}: missing`;
  const isText = typeof issue.input === 'string' && issue.message.startsWith('must ');
  return `${path}: ${issue.message}${isText ? `, but is ${issue.received}` : ''}`;
}
