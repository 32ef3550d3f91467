import { beginSignIn, issuers, issuersProblem, loadIssuers, texts } from '../state.ts';
import { fill } from '../text.ts';
import { Alert } from './problem.tsx';

const here = (): string => location.pathname + location.search + location.hash;

/** Ways to log in without the password, which lead back to the present address. */
export function Providers({ areOnlyWay = false }: { readonly areOnlyWay?: boolean }) {
  const t = texts();
  if (issuersProblem.value)
    return <Alert problem={issuersProblem.value} onRetry={() => void loadIssuers()} />;
  if (issuers.value.length === 0) return null;
  return (
    <div class="providers">
      {issuers.value.map((issuer) => (
        <button
          key={issuer.issuer}
          type="button"
          class={areOnlyWay ? 'primary' : undefined}
          onClick={() => void beginSignIn(issuer, here())}
        >
          {fill(t.logInWith, { name: issuer.name })}
        </button>
      ))}
    </div>
  );
}
