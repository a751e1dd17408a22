-- PURPOSE    Tell in which life the server is.
-- KEYS       prefix of the partition's keys (none is used)
-- ARGV       none
-- RETURNS    its name, empty where the server does not tell
-- INVARIANT  Writes nothing.
-- BOUND      Constant.
-- @include life
return life_of_server()
