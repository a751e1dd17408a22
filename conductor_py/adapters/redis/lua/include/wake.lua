-- Hints, each topic once a script, on the channel of its kind (its first letter): who waits for one
-- kind hears nothing of the others.
local published = {}
local function publish(channel, topic)
  if not published[topic] then
    published[topic] = true
    redis.call('PUBLISH', channel .. ':' .. string.sub(topic, 1, 1), topic)
  end
end
