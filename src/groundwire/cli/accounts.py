"""``groundwire accounts``: lists and changes the accounts of people who sign in to the console.

The command works on the database itself, so it needs no running gateway.
"""

import click

from groundwire.cli.console import say
from groundwire.cli.options import argument, command, commands, option
from groundwire.cli.settings import StoreOptions
from groundwire.cli.store_change import end, run


@commands()
def accounts() -> None:
    """Make, change, list and remove the accounts of people who sign in to the console.

    The commands work on the database itself, so no gateway has to run. Each change is recorded in
    the audit trail, which needs the gateways' audit.key: from --config, GROUNDWIRE_AUDIT_KEY, or
    the file in gateway.data_dir.

    Examples:
        groundwire accounts set anna --role admin
        groundwire accounts set anna --new-password
        groundwire accounts list
        groundwire accounts remove anna

    Exit status:
        0  done
        1  done, but could not be recorded in the audit trail
        2  nothing was done
    """


@command("set", short_help="Make an account, or change its role or password.", under=accounts)
def set_(
    ctx: click.Context,
    /,
    *,
    name: str = argument("NAME"),
    role: str | None = option("--role", "ROLE", click.Choice(["viewer", "reviewer", "admin"])),
    has_new_password: bool = option("--new-password"),
    store: StoreOptions,
) -> None:
    """Make an account, or change the role or the password of an existing one.

    A new account gets a random password, which is printed once, on standard output. If the account
    exists, its sessions end.

    Args:
        role: What the owner of the account may do: viewer (see everything), reviewer (also judge
            findings) or admin (change everything).  [default of a new account: viewer]
        has_new_password: Make a new password even if the account exists.
    """
    config = store.read(ctx)
    from groundwire.control.accounts import AccountRole, Accounts, new_password

    password, own = new_password(), None if role is None else AccountRole(role)
    done = run(
        config,
        lambda store: Accounts(store).save(
            name, role=own, password=password, is_reset=has_new_password
        ),
        lambda saved, events: events.account_saved(saved),
    )
    say(f"{done.value.account.name} has the role {done.value.account.role}.")
    if done.value.has_new_password:
        say("The password is shown this once; the owner changes it in the console:")
        click.echo(password)
    end(ctx, done)


@command("list", short_help="List accounts.", under=accounts)
def list_(ctx: click.Context, /, *, store: StoreOptions) -> None:
    """List all accounts by name, with role and last sign-in."""
    config = store.read(ctx)
    from groundwire.control.accounts import Accounts

    for each in run(config, lambda store: Accounts(store).all()).value:
        last = each.signed_in_at
        click.echo(f"{each.name}  {each.role}  {f'{last:%Y-%m-%d}' if last else 'never signed in'}")


@command(short_help="Remove an account.", under=accounts)
def remove(ctx: click.Context, /, *, name: str = argument("NAME"), store: StoreOptions) -> None:
    """Remove an account; its sessions end."""
    config = store.read(ctx)
    from groundwire.control.accounts import Accounts

    done = run(
        config,
        lambda store: Accounts(store).remove(name),
        lambda account, events: events.account_removed(account),
    )
    say(f"Removed {done.value.name}.")
    end(ctx, done)
